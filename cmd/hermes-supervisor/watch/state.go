package watch

import "time"

// State is what is shown, as it was read at one moment.
type State struct {
	Title   string   // what is looked at
	Note    string   // how it is, in a few words; at the right of the title
	Bad     bool     // the note is bad news
	Summary string   // one line, where there is room
	Tables  []Table  // in the order of their weight: where room is scarce the last go first
	Events  []string // what happened, oldest first
}

// Table is one section.
type Table struct {
	Name    string // what its selection and scrolling are kept by
	Empty   string // said where it has no rows; "": it is left out then
	Columns []Column
	Rows    []Row
}

// Column is one column of a table.
type Column struct {
	Title string
	Rank  int  // where it is too narrow, the column of the highest rank goes first; 0: it stays
	Rest  bool // takes what room is left; the last column
	Tint  bool // bears the row's mood
	Right bool // numbers
}

// Row is one line of a table.
type Row struct {
	ID     string                       // of the row among those of all tables: a selection holds on to it
	Name   string                       // as commands take it
	Orders bool                         // it can be started, stopped and restarted, and has a log
	Mood   Mood                         // how it stands
	Cells  func(now time.Time) []string // one for each column; ages and waits are told by now
}

// Mood is a colour by what it means.
type Mood int

// The moods.
const (
	Plain Mood = iota
	Good       // as it should be
	Busy       // on its way, or waiting
	Bad        // somebody should look
	Faint      // of no weight now
)
