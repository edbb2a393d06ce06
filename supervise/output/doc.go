// Package output keeps what a service prints: files that the service writes to itself, archived and bounded, and read
// back as one stream.
//
//	log/<service>/
//	  out                       the current file: the child's stdout, O_APPEND. err is its stderr, all the same
//	  out.<from>-<to>           an archive: the bytes [from, to) of the stream; positions have 20 digits
//	  out@<position>            the current file begins at this position, not at 0; empty
//	  out.tmp-<random>          an archive that is being written
//
//	position   0 ........ from ........ to=end ........ top
//	           dropped    archives      current file
//	                      (a hole in the current file)
//
// The child holds the file itself, so that our death neither blocks nor kills it and loses no byte. Log.Sweep copies the
// head of what is not archived aside, makes the copy durable under its name, and only then punches it out of the current
// file, which keeps its length: a byte's offset never changes, and a restart of the service goes on where it stood.
//
// The names are the only record. What an archive's name covers is read from the archive, whatever the current file holds
// there; what lies above the newest is read from the current file. A writer that is killed between any two steps
// therefore leaves a state that reads the same before and after the next Sweep repeats the punch. Archives go from the
// oldest on; the newest of a stream stays, an eighth of the bound at most, since its name says how far the stream is
// archived. What lies before a gap is dropped.
//
// # A service that cuts its own file
//
// `echo x >/dev/stderr` in a shell truncates. Archived bytes stay; what was not archived is gone, which is journalled.
// When the file has become shorter than what was archived of it, or what it holds where the newest archive was punched out
// is something else, the stream goes on under a mark, out@<end>: the file's first byte has the position at which the
// archives end. Nothing that is in the file then is lost or read twice. Known limits: a service that cuts its file
// within the microseconds between our last look and the punch, or refills it with the very same bytes, loses what it
// wrote below the archived length.
//
// # What it does not do
//
// It starts nothing, and knows no times: two streams are two streams. Sweep, and Files where it archives, belong to one
// process at a time, the service's supervisor; reading needs no lock and may be done by anybody. A file that somebody
// removes while a service runs is made anew, but the service writes to the removed one until it starts again.
//
// Windows, macOS, and Linux on a file system without FALLOC_FL_PUNCH_HOLE: copying would free nothing while the service
// holds the file. There the current file grows for as long as the service runs, and becomes an archive, whole, at the next
// start (Files); one that is larger than the bound is then dropped.
package output
