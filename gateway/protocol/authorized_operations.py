"""What a client may do, as a cluster without an authorizer answers it: everything (KIP-430).

``AuthHelper.authorizedOperations`` makes a field of bits of the operations that ``AclEntry.supportedOperations`` has
for a type of resource, each the number of its ``AclOperation``.
"""

from enum import IntEnum
from typing import Final

from cluster_model.protocol.versions import Profile


class AclOperation(IntEnum):
    """``AclOperation``, as far as the resources here have them."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


def _bits(*operations: AclOperation) -> int:
    return sum(1 << operation for operation in operations)


_CONFIGS: Final = (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)

OF_TOPIC: Final = _bits(
    AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DESCRIBE, AclOperation.DELETE,
    AclOperation.ALTER, *_CONFIGS,
)  # fmt: skip
OF_CLUSTER: Final = _bits(
    AclOperation.CREATE, AclOperation.CLUSTER_ACTION, AclOperation.IDEMPOTENT_WRITE, AclOperation.ALTER,
    AclOperation.DESCRIBE, *_CONFIGS,
)  # fmt: skip
_OF_GROUP: Final = _bits(AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE)


def of_group(profile: Profile) -> int:
    """Of a group, in a release."""
    return _OF_GROUP | _bits(*_CONFIGS) if profile.group_configs else _OF_GROUP
