package doctor

// freeSpace is not asked for on Windows.
func freeSpace(string) (uint64, bool) { return 0, false }
