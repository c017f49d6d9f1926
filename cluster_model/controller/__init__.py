"""Floor 3: who decides on leaders and ISRs, and how the decisions travel."""
