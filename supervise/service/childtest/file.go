//go:build unix

package childtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Line is a numbered line of the process pid, without its end.
func Line(number, pid int, padding string) string {
	return fmt.Sprintf("line %d %d%s", number, pid, padding)
}

// Padding is what the word pad N puts at the end of a numbered line; "" for 0.
func Padding(n int) string {
	if n <= 0 {
		return ""
	}
	return " " + strings.Repeat(".", n)
}

// count writes numbered lines.
func count(to io.Writer, file string, n int, every time.Duration, padding string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // each write has been seen to go well
	held, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	last := 0
	if text := strings.TrimSpace(string(held)); text != "" {
		if last, err = strconv.Atoi(text); err != nil {
			return err
		}
	}
	for i := 0; n == 0 || i < n; i++ {
		last++
		if _, err := f.WriteAt(fmt.Appendf(nil, "%019d\n", last), 0); err != nil {
			return err
		}
		if _, err := io.WriteString(to, Line(last, os.Getpid(), padding)+"\n"); err != nil {
			return err
		}
		time.Sleep(every)
	}
	return nil
}

func flood(n int) error {
	for lines := strings.Repeat("0123456789abcde\n", 4096); n > 0; {
		m, err := os.Stdout.WriteString(lines[:min(n, len(lines))])
		if err != nil {
			return err
		}
		n -= m
	}
	return nil
}

func touch(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	now := time.Now()
	return errors.Join(f.Close(), os.Chtimes(file, now, now))
}

// listen answers in the background.
func listen(file string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it listens for as long as the child lives
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()
	// Whoever waits for the file must not read half of it.
	if err := os.WriteFile(file+".new", []byte(l.Addr().String()), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func answer(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // the answer is all
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if n, _ := conn.Read(make([]byte, 4<<10)); n > 0 {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	}
}

// record writes the lines of several children into one file: each line is one write.
func record(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	line := func(word string) error { return note(f, word) }
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	go func() {
		<-told
		_ = line("end")
		signal.Reset(syscall.SIGTERM)
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	}()
	return line("start")
}

// note appends what has just happened to this process, in one write.
func note(f *os.File, word string) error {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return err
	}
	_, err := fmt.Fprintf(f, "%s %d %d\n", word, os.Getpid(), ts.Nano())
	return err
}

// alone takes the lock by a descriptor that an exec leaves open, so that it is free when everything that was started
// since has ended, and not before.
func alone(file string) error {
	fd, err := unix.Open(file, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), file)
	held = append(held, f)
	switch err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return note(f, "overlap")
	case err != nil:
		return err
	}
	return note(f, "start")
}

// held keeps the locks of alone out of the hands of the garbage collector.
var held []*os.File
