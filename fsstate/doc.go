// Package fsstate keeps the supervisor's state: a folder of small JSON files below HERMES_HOME that a person can read
// with cat. It knows formats, safe reading, durable writing and locks. It decides nothing.
//
//	HERMES_HOME/                 Home, ResolveHome, Homes
//	  supervisor/                Open, OpenRead -> Store     0700, files 0600
//	    turns/ ended/ …          Read, Write, Remove, Touch, List, Quarantine
//	    run/                     NewWitness, NewOutput, OpenRun
//	    locks/00.lock … ff.lock  Lock, LockAll
//	    tmp/                     where new versions are written before the rename
//	    journal.jsonl            Journal
//
// Promises:
//
//   - When Write, Remove, Quarantine, NewWitness or ReplaceFile returns nil, a power loss does not undo it. When it
//     returns an error, a reader finds the old version or the new one, never a mixture.
//   - A reader needs no lock. Reading cannot block and is bounded: symbolic links, FIFOs, devices, hard links and files
//     that others own or may write are refused with an *UnsafeError.
//   - Lock excludes every other process on the same kernel, and is free at the moment in which its holder dies. Open
//     refuses file systems on which that does not hold.
//   - A Document keeps the fields that this version does not know.
//
// What it does not do: it does not protect from a process of the same user that rewrites these files (Document.Seal
// tells those apart that do not hold the key), it watches nothing, and it never opens Hermes's own files except through
// ReadFile and ReplaceFile, by the path that it is given.
//
// Windows: a directory cannot be synced there, so that a power loss may undo a change that was reported done, and
// owners and write rights lie in access control lists, which are not examined: the folder is as private as the user
// profile that it lies in.
package fsstate
