"""Programs that run inside other libraries' environments; only the standard library and that one library are there."""
