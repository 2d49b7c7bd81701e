"""Pictures of what a report holds: as coordinates, as SVG and as characters. Reads reports, writes no files."""
