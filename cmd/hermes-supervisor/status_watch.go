package main

import "context"

func (a *app) hasScreen() bool                   { return false }
func (a *app) watchScreen(context.Context) error { return nil }
