"""The file systems that this process sees, as Linux lists them: their kind, and whether several machines use one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# File systems that one machine mounts at a time; of any other kind, also an unknown one, several machines may.
OF_ONE_MACHINE = frozenset(
    {
        *("local", "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "nilfs2", "ntfs3", "overlay"),
        *("ramfs", "reiserfs", "tmpfs", "vfat", "xfs", "zfs"),
    }
)
# Those of several machines on which a lock holds between the processes of one only: there is none in their protocol …
LOCKS_OF_ONE_MACHINE = frozenset(
    f"fuse.{name}" for name in ("gcsfuse", "goofys", "mount-s3", "mountpoint-s3", "rclone", "s3fs", "sshfs")
)
# … or they are mounted so (NFS, SMB, Lustre, OCFS2).
KEPT_HERE = re.compile(r"nolock|nobrl|localflocks?|local_lock=(?:all|flock|posix)")
MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class Mount:
    """`kind`: such as ext4 or nfs4; `local` where the system does not list its mounts as Linux does."""

    kind: str = "local"
    options: frozenset[str] = frozenset()

    @property
    def is_of_one_machine(self) -> bool:
        """Whether no other machine writes to the file system."""
        return self.kind in OF_ONE_MACHINE

    @property
    def hides_locks(self) -> bool:
        """Whether other machines may use the file system, and do not see what this one locks."""
        keeps = any(KEPT_HERE.fullmatch(option) for option in self.options)
        return self.kind in LOCKS_OF_ONE_MACHINE or (keeps and not self.is_of_one_machine)


def mount_of(path: Path) -> Mount:
    """The mount that a path is on."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return Mount()
    place, found, longest = path.resolve(), Mount(), -1
    for line in lines:
        mount_fields, _, file_system = line.partition(" - ")
        point = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), mount_fields.split()[4]))
        if len(point.parts) >= longest and place.is_relative_to(point):  # a later mount covers an earlier one
            kind, _, *options = file_system.split()
            found, longest = Mount(kind, frozenset(",".join(options).split(","))), len(point.parts)
    return found
