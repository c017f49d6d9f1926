"""Network namespaces with one TUN device each, made without the ``ip`` program.

A namespace exists as long as a file descriptor or a process keeps it: nothing has a name, so nothing is left behind
when this process ends, however it ends. A namespace has its loopback device and the TUN device ``eth0``; the
descriptor of that device is the only way in or out.
"""

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CLONE_NEWNET: Final = 0x40000000
_TUNSETIFF: Final = 0x400454CA
_IFF_TUN: Final = 0x0001
_IFF_NO_PI: Final = 0x1000
_SIOCSIFFLAGS: Final = 0x8914
_SIOCSIFADDR: Final = 0x8916
_SIOCSIFNETMASK: Final = 0x891C
_SIOCSIFMTU: Final = 0x8922
_IFF_UP: Final = 0x1
_IFF_RUNNING: Final = 0x40

DEVICE: Final = "eth0"
MTU: Final = 60_000
NETMASK: Final = "255.255.0.0"
PROGRAMS: Final = ("nsenter", "setpriv")
"""Programs of util-linux that start a process in a namespace and end it with its parent."""


class NamespaceUnavailableError(Exception):
    """Namespaces cannot be made here; the message says what is missing."""


@dataclass(slots=True)
class Namespace:
    """A network namespace: its address, and the descriptors of the namespace and of its TUN device."""

    address: str
    net_fd: int
    tun_fd: int

    def command(self, *command: str) -> list[str]:
        """Return a command that runs in this namespace and is killed when its parent thread ends.

        The child process needs :attr:`net_fd` (``pass_fds``).
        """
        return [
            "nsenter", f"--net=/proc/self/fd/{self.net_fd}", "--",
            "setpriv", "--pdeathsig", "KILL", "--", *command,
        ]  # fmt: skip

    def close(self) -> None:
        """Give the namespace up; it ends with its last process."""
        for descriptor in (self.tun_fd, self.net_fd):
            os.close(descriptor)


def missing() -> list[str]:
    """Return what this machine lacks for namespaces, as words for a message."""
    found = [f"the program {name}" for name in PROGRAMS if shutil.which(name) is None]
    if not Path("/dev/net/tun").exists():
        found.append("the device /dev/net/tun")
    if os.geteuid() != 0:
        found.append("root (for network namespaces)")
    if not found:
        try:
            make_namespace("10.77.255.254").close()
        except NamespaceUnavailableError as error:
            found.append(str(error))
    return found


def make_namespace(address: str) -> Namespace:
    """Return a new namespace whose only way out is a TUN device with this IPv4 address.

    Raises:
        NamespaceUnavailableError: the kernel refuses, for example without the privileges.
    """
    made: list[Namespace] = []
    reasons: list[OSError] = []

    def make() -> None:
        try:
            made.append(_made_in_this_thread(address))
        except OSError as error:
            reasons.append(error)

    _in_thread(make)  # unshare() moves the calling thread alone, and that thread ends here
    if not made:
        raise NamespaceUnavailableError(f"the kernel makes no network namespace with a TUN device: {reasons[0]}")
    return made[0]


def _in_thread(function: Callable[[], None]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def _made_in_this_thread(address: str) -> Namespace:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    net_fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    tun_fd = -1
    try:
        tun_fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tun_fd, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            _configure(control, address)
    except OSError:
        for descriptor in (net_fd, tun_fd):
            if descriptor >= 0:
                os.close(descriptor)
        raise
    return Namespace(address, net_fd, tun_fd)


def _configure(control: socket.socket, address: str) -> None:
    """Give the device address, netmask and MTU, and bring it and the loopback device up."""

    def request(code: int, device: str, value: bytes) -> None:
        fcntl.ioctl(control, code, struct.pack("16s24s", device.encode(), value))

    def internet(text: str) -> bytes:
        return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(text))

    request(_SIOCSIFADDR, DEVICE, internet(address))
    request(_SIOCSIFNETMASK, DEVICE, internet(NETMASK))
    request(_SIOCSIFMTU, DEVICE, struct.pack("i", MTU))
    for device in ("lo", DEVICE):
        request(_SIOCSIFFLAGS, device, struct.pack("H", _IFF_UP | _IFF_RUNNING))
