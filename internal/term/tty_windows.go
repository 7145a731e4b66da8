package term

// ttyName is the console's input, also when standard input is a pipe.
const ttyName = "CONIN$"
