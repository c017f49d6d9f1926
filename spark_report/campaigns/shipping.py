"""The simulator as one file, for executors that have none: every module of the rooms it needs, and their data."""

import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOMS: Final = ("cluster_model", "faults", "playbooks", "spark_report")
_DATA: Final = {".py", ".yaml", ".json", ".tables", ".lark", ".css", ".j2", ".typed"}
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The same file has the same bytes, whenever it is packed."""


def ship(spark: "SparkSession", folder: Path) -> None:
    """Give the executors the simulator; the file has to stay for as long as they may ask for it.

    A Spark that has been given it before takes no other file of that name, and the earlier one may be gone by now.
    """
    spark.addArtifact(str(pack(folder / f"floodmark-{folder.name}.zip")), pyfile=True)


def pack(place: Path) -> Path:
    """Write the rooms, as they are installed here, into a zip file that Python can import from."""
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as file:
        for room in ROOMS:
            spec = find_spec(room)
            assert spec is not None
            assert spec.origin is not None
            root = Path(spec.origin).parent
            for path in sorted(root.rglob("*")):
                if path.suffix in _DATA and "__pycache__" not in path.parts:
                    inside = zipfile.ZipInfo(str(Path(room) / path.relative_to(root)), _EPOCH)
                    file.writestr(inside, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return place
