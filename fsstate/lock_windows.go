package fsstate

import "os"

const lockFlags = os.O_CREATE | os.O_RDWR

// holderOffset spares the first byte: gofrs/flock locks it, and on Windows nobody else can then read or write it.
const holderOffset = 1

func interrupted(error) bool { return false }
