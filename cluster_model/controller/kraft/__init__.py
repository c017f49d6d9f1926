"""KRaft mode: the quorum's active controller decides, its log of metadata records tells every broker."""
