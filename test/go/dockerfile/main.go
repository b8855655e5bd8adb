// dockerfile reads a Dockerfile with BuildKit's own parser and linter, those of
// `docker build --check`, without needing Docker.
//
//	Usage: dockerfile FILE [--runs]
//
// Prints each warning and ends with status 1 if there is one. With --runs it
// prints the shell commands of the RUN instructions instead, for shellcheck.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: dockerfile FILE [--runs]")
	}
	warnings := 0
	stages := parse(os.Args[1], func(text string) {
		fmt.Println(text)
		warnings++
	})
	if len(os.Args) > 2 && os.Args[2] == "--runs" {
		printRuns(stages)
		return
	}
	if warnings > 0 {
		os.Exit(1)
	}
}

func parse(file string, warn func(string)) []instructions.Stage {
	content, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	result, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		log.Fatalf("%s: %v", file, err)
	}
	for _, warning := range result.Warnings {
		warn(fmt.Sprintf("%s: %s", file, warning.Short))
	}
	rules := linter.New(&linter.Config{Warn: func(rule, _, _, message string, location []parser.Range) {
		warn(fmt.Sprintf("%s:%d: %s (%s)", file, location[0].Start.Line, message, rule))
	}})
	stages, _, err := instructions.Parse(result.AST, rules)
	if err != nil {
		log.Fatalf("%s: %v", file, err)
	}
	return stages
}

func printRuns(stages []instructions.Stage) {
	fmt.Println("#!/bin/sh")
	for _, stage := range stages {
		for _, command := range stage.Commands {
			if run, ok := command.(*instructions.RunCommand); ok {
				fmt.Println(strings.Join(run.CmdLine, " "))
			}
		}
	}
}
