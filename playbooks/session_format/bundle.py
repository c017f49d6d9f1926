"""Bundle: a session as one file, ``NAME.floodmark``, for sending.

It is a zip file whose first member, ``bundle.json``, names every other with its size and SHA-256; the session's
manifest follows if there is one, then the rest by name. Times and permissions are left out, so that the same session
always gives the same bytes. Received bundles are not trusted: :func:`open_bundle` extracts exactly the files that are
named, with exactly these sizes and digests.
"""

import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from playbooks.session_format import session_files
from playbooks.session_format.filesystem import FileSystem
from playbooks.session_format.session_files import BundleError
from playbooks.text import printable

SUFFIX: Final = ".floodmark"
CONTENTS: Final = "bundle.json"
"""First member: the list of contents."""
BUNDLE_FORMAT: Final = 1

MOST_FILES: Final = 1_000
MOST_BYTES: Final = 64 << 30
"""Maximum size of all files together, unpacked."""
FREE_BYTES: Final = 16 << 20
"""Size to which any bundle may unpack, however small it is."""
MOST_RATIO: Final = 200
"""Maximum compression ratio beyond that. Event logs compress to a tenth; zip bombs to a thousandth."""
MOST_CONTENTS: Final = 1 << 20

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ =+@-]*(/[A-Za-z0-9_][A-Za-z0-9._ =+@-]*)*")
_SESSION_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
_LIES: Final = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(EOFError, RuntimeError, ValueError, OverflowError),
)
"""Exceptions of reading a damaged or malicious zip file."""
_BLOCK: Final = 1 << 20


def write_bundle(session: Path, file: Path, *, force: bool = False, disk: FileSystem | None = None) -> str:
    """Pack a session, sealed or not, into one file; return its SHA-256.

    Raises:
        BundleError: the session cannot be read, the file exists and ``force`` is not given, or it cannot be written.
    """
    disk = disk or FileSystem()
    if not (session / session_files.START).is_file():
        why = session_files.why_no_session(session)
        raise BundleError(str(why), code=why.code)
    if file.exists() and not force:
        raise BundleError(f"{file} exists already; use --force to overwrite it", code="file_exists")
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}.tmp")
    try:
        contents = _contents(session)
        with temporary.open("xb") as out:
            _pack(session, contents, out)
            out.flush()
            os.fsync(out.fileno())
        with temporary.open("rb") as whole:
            digest = hashlib.file_digest(whole, "sha256").hexdigest()
        if file.exists() and not force:
            raise BundleError(f"{file} exists already; use --force to overwrite it", code="file_exists")
        disk.rename(temporary, file)
        disk.sync_directory(file.parent)
    except OSError as error:
        raise BundleError(f"cannot write {file}: {error.strerror or error}", code="unwritable") from error
    except session_files.LayoutError as error:
        raise BundleError(str(error), code=error.code) from None
    finally:
        temporary.unlink(missing_ok=True)
    return digest


def is_bundle(file: Path) -> bool:
    """Return whether a file may be a bundle: it is a zip file, or has its suffix."""
    if file.suffix == SUFFIX:
        return True
    try:
        with file.open("rb") as start:
            return start.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def open_bundle(file: Path, into: Path) -> Path:
    """Unpack a bundle to a session directory under ``into`` and return it. An invalid bundle leaves nothing behind.

    Raises:
        BundleError: it is not a bundle, damaged, or malicious; or the session exists already.
    """
    try:
        with zipfile.ZipFile(file) as bundle:
            contents = _checked_contents(file, bundle)
            target = session_files.directory_of(into, contents["session_id"])
            if target.exists():
                raise BundleError(f"{file}: its session exists already: {target}", code="session_exists")
            temporary = into / f".{target.name}.{secrets.token_hex(4)}.tmp"
            try:
                temporary.mkdir(parents=True)
                for name, seal in contents["files"].items():
                    _unpack(file, bundle, name, seal, temporary / name)
                _check_session(file, temporary, contents["session_id"])
                temporary.rename(target)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
            FileSystem().sync_directory(into)
            return target
    except _LIES as error:
        raise BundleError(f"{file} is no complete bundle: {error or type(error).__name__}", code="not_whole") from None
    except OSError as error:
        raise BundleError(f"{file}: cannot be opened: {error.strerror or error}", code="unreadable") from None


# -- packing --------------------------------------------------------------------------------------------------------


def _contents(session: Path) -> dict[str, Any]:
    """Return the contents of ``bundle.json``, the manifest first among the files."""
    start = session_files.read_start(session)
    manifest = session_files.read_manifest(session)
    if not _SESSION_ID.fullmatch(start.session_id):
        raise BundleError(
            f"{session / session_files.START}: session_id: found {start.session_id!r:.80}, not a session's id",
            code="bad_session_id",
        )
    names = sorted(session_files.files_in(session), key=lambda name: (name != session_files.MANIFEST, name))
    for name in names:
        if not _NAME.fullmatch(name):
            raise BundleError(f"{session / name}: a name that is not allowed in a bundle", code="bad_file_name")
    return {
        "floodmark_bundle": BUNDLE_FORMAT,
        "session_id": start.session_id,
        "tool_version": start.tool_version,
        "playbook": start.playbook,
        "status": "torn" if manifest is None else manifest.status,
        "files": {name: _seal(session / name) for name in names},
    }


def _pack(session: Path, contents: dict[str, Any], out: IO[bytes]) -> None:
    with zipfile.ZipFile(out, "w") as bundle:
        text = json.dumps(contents, indent=2, ensure_ascii=True) + "\n"
        bundle.writestr(_member(CONTENTS), text, zipfile.ZIP_DEFLATED, 6)
        for name, seal in contents["files"].items():
            with (session / name).open("rb") as source, bundle.open(_member(name), "w", force_zip64=True) as packed:
                shutil.copyfileobj(source, packed, _BLOCK)
            if bundle.getinfo(name).file_size != seal["bytes"]:
                raise BundleError(
                    f"{session / name} changed while it was packed: the session is still being written",
                    code="changed_while_packed",
                )


def _member(name: str) -> zipfile.ZipInfo:
    """Return a member without any metadata except its name."""
    member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    member.compress_type = zipfile.ZIP_DEFLATED
    member.create_system = 3
    member.external_attr = (stat.S_IFREG | 0o644) << 16
    return member


def _seal(path: Path) -> dict[str, str | int]:
    with path.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}


# -- unpacking ------------------------------------------------------------------------------------------------------


def _checked_contents(file: Path, bundle: zipfile.ZipFile) -> dict[str, Any]:
    """Return the list of contents after all checks that are possible before unpacking."""
    members = bundle.infolist()
    if not members or members[0].filename != CONTENTS:
        raise BundleError(f"{file} is not a bundle: its first member is not {CONTENTS}", code="not_a_bundle")
    if len(members) > MOST_FILES:
        raise BundleError(f"{file} has {len(members)} files, expected {MOST_FILES}", code="too_many_files")
    for member in members:
        _check_member(file, member)
    names = [member.filename for member in members]
    if len({name.lower() for name in names}) < len(names):
        twice = next(name for name in names if [other.lower() for other in names].count(name.lower()) > 1)
        raise BundleError(f"{file} has {twice} twice", code="file_twice")
    total = sum(member.file_size for member in members)
    allowed = min(MOST_BYTES, FREE_BYTES + MOST_RATIO * file.stat().st_size)
    if total > allowed:
        raise BundleError(
            f"{file} would unpack to {total} bytes, expected {allowed} for a file of its size", code="too_large"
        )
    contents = _read_contents(file, bundle, members[0])
    _compare_names(file, contents["files"], names[1:])
    sizes = {member.filename: member.file_size for member in members}
    for name, seal in contents["files"].items():
        if seal["bytes"] != sizes[name]:
            raise BundleError(
                f"{file}: {name} has {sizes[name]} bytes, {CONTENTS} says {seal['bytes']}", code="size_changed"
            )
    return contents


def _check_member(file: Path, member: zipfile.ZipInfo) -> None:
    name = member.filename
    if not _NAME.fullmatch(name) or len(name) > 200:
        raise BundleError(f"{file}: {name!r:.80} is not a valid file name of a session", code="bad_file_name")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise BundleError(f"{file}: {name} is not a regular file", code="not_a_plain_file")
    if member.flag_bits & 0x1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BundleError(f"{file}: {name} is encrypted, or uses an unsupported compression", code="packed_otherwise")


def _read_contents(file: Path, bundle: zipfile.ZipFile, member: zipfile.ZipInfo) -> dict[str, Any]:
    if member.file_size > MOST_CONTENTS:
        raise BundleError(
            f"{file}: {CONTENTS} has {member.file_size} bytes, expected {MOST_CONTENTS}", code="too_large"
        )
    try:
        with bundle.open(member) as source:
            contents = json.loads(source.read(MOST_CONTENTS + 1))
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{file}: {CONTENTS} is not JSON: {error}", code="not_json") from None
    number = contents.get("floodmark_bundle") if isinstance(contents, dict) else None
    if type(number) is not int:
        raise BundleError(f"{file} is not a bundle: {CONTENTS} has no floodmark_bundle", code="not_a_bundle")
    if number > BUNDLE_FORMAT:
        raise BundleError(
            f"{file}: a bundle of format {number}, this floodmark reads up to {BUNDLE_FORMAT}", code="later_format"
        )
    session_id, files = contents.get("session_id"), contents.get("files")
    if not isinstance(session_id, str) or not _SESSION_ID.fullmatch(session_id):
        raise BundleError(
            f"{file}: {CONTENTS}: session_id: found {session_id!r:.80}, expected the id of a session",
            code="bad_session_id",
        )
    if not isinstance(files, dict) or not all(_is_seal(seal) for seal in files.values()):
        raise BundleError(f"{file}: {CONTENTS}: files: expected the size and SHA-256 of every file", code="wrong_type")
    return dict(contents)


def _is_seal(seal: object) -> bool:
    return isinstance(seal, dict) and type(seal.get("bytes")) is int and isinstance(seal.get("sha256"), str)


def _compare_names(file: Path, listed: dict[str, Any], there: list[str]) -> None:
    missing = sorted(listed.keys() - set(there))
    if missing:
        raise BundleError(f"{file}: {printable(missing[0]):.80} is missing, {CONTENTS} names it", code="file_missing")
    foreign = [name for name in there if name not in listed]
    if foreign:
        raise BundleError(f"{file}: {foreign[0]} is not named in {CONTENTS}", code="file_not_listed")


def _unpack(file: Path, bundle: zipfile.ZipFile, name: str, seal: dict[str, Any], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    left = seal["bytes"]
    with bundle.open(name) as source, target.open("xb") as out:
        for block in _blocks(source):
            left -= len(block)
            if left < 0:
                raise BundleError(
                    f"{file}: {name} is longer than the {seal['bytes']} bytes in {CONTENTS}", code="size_changed"
                )
            digest.update(block)
            out.write(block)
    if left or digest.hexdigest() != seal["sha256"]:
        raise BundleError(f"{file}: {name} is damaged: its SHA-256 differs", code="content_changed")


def _blocks(source: IO[bytes]) -> Iterator[bytes]:
    while block := source.read(_BLOCK):
        yield block


def _check_session(file: Path, directory: Path, session_id: str) -> None:
    """Check that the unpacked session is the one named in the bundle."""
    try:
        found = session_files.read_start(directory).session_id
        manifest = session_files.read_manifest(directory)
    except session_files.LayoutError as error:
        raise BundleError(f"{file}: {str(error).replace(f'{directory}{os.sep}', '')}", code=error.code) from None
    for known in (found, session_id if manifest is None else manifest.session_id):
        if known != session_id:
            raise BundleError(f"{file}: has session {known}, {CONTENTS} says {session_id}", code="another_session")
