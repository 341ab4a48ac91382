"""The papers, measured again: `make papers` writes docs/results.md, its figures and a page for the pointer."""
