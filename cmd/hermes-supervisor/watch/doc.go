// Package watch is the screen of `status --watch`: tables of rows that a person looks at, chooses from, and orders
// something for.
//
//	State ──Set──▶ Model ──View(width, height)──▶ lines ──▶ Screen ──▶ terminal
//	                 ▲
//	bytes ──Keys──▶ Update ──▶ Action (an order, an explanation, the end) ──▶ whoever runs it
//
// Model is pure: it opens no file, reads no clock but the one that it is handed, and knows neither services nor turns,
// only rows. Screen alone knows terminals, and gives one back as it found it, whatever ends the program but SIGKILL.
//
// A row never breaks: what moves a cursor is replaced, what is too wide is cut, and the terminal is told not to wrap.
package watch
