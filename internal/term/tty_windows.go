package term

import "os"

// ttyName is the console's input, also when standard input is a pipe.
const ttyName = "CONIN$"

// watchSize never tells of anything here: the size is asked for at each key.
func watchSize() (resized <-chan os.Signal, stop func()) { return nil, func() {} }

// suspend does nothing: there are no stopped jobs here.
func suspend() {}
