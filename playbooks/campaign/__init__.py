"""Campaigns: many numbered runs of one kind, a storm or the cells of a grid, a row of each, and what they come to."""
