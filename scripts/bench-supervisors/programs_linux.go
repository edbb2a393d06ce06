package main

// stampsVar names the FIFO that a service sends its stamp to, readyVar tells it to report readiness as s6 wants it, exitVar
// to print lastLine and exit with that status at once.
const (
	stampsVar = "BENCH_SUPERVISORS_STAMPS"
	readyVar  = "BENCH_SUPERVISORS_READY"
	exitVar   = "BENCH_SUPERVISORS_EXIT"
	lastLine  = "cannot go on: there is nothing to serve"
)

// serviceSource is the service. It is in C so that what it needs before its first act is next to nothing: a Go program
// would add a millisecond to every supervisor's figure.
const serviceSource = `#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t stamp[2] = {getpid(), now.tv_sec * INT64_C(1000000000) + now.tv_nsec};
	int fd = open(getenv("` + stampsVar + `"), O_WRONLY | O_NONBLOCK);
	if (fd < 0 || write(fd, stamp, sizeof stamp) != sizeof stamp)
		return 1; /* nobody measures any more */
	close(fd);
	if (getenv("` + exitVar + `")) {
		puts("` + lastLine + `");
		return atoi(getenv("` + exitVar + `"));
	}
	if (getenv("` + readyVar + `")) {
		if (write(3, "\n", 1) != 1)
			return 1;
		close(3);
	}
	for (;;)
		pause();
}
`

// loopSource is the floor of what Go can do: a goroutine for each service, which starts it again at once.
const loopSource = `package main

import (
	"os"
	"os/exec"
	"strconv"
)

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	for range n {
		go func() {
			for {
				cmd := exec.Command(os.Args[2])
				if cmd.Start() != nil {
					os.Exit(1)
				}
				_ = cmd.Wait()
			}
		}()
	}
	select {}
}
`
