// Go's ways of reading a whole body. The same commands and options as the worker in C (bench/c/worker.c).
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const (
	period    = 251
	warmBlock = 64 * 1024
)

var block = func() []byte {
	made := make([]byte, warmBlock+period)
	for i := range made {
		made[i] = byte(i % period)
	}
	return made
}()

type source struct {
	n, most, given int
	trace          *trace
}

// Where the windows lay, which tells what Go copies: nothing preloaded sees that.
type trace struct {
	end              uintptr // where the last window ended: the same for all windows of one piece of memory
	regions          []int   // room of each piece of memory, in order
	before           []int   // bytes that had come before it
	copied, peakHeld int
}

func (t *trace) see(window []byte, given int) {
	end := uintptr(unsafe.Pointer(unsafe.SliceData(window))) + uintptr(len(window))
	if end != t.end {
		t.end = end
		t.regions = append(t.regions, len(window))
		t.before = append(t.before, given)
	}
}

//go:noinline
func (s *source) Read(window []byte) (int, error) {
	if s.trace != nil && len(window) > 0 {
		s.trace.see(window, s.given)
	}
	if s.given == s.n {
		return 0, io.EOF
	}
	count := min(s.n-s.given, len(window), s.most)
	for done := 0; done < count; {
		piece := min(count-done, warmBlock)
		from := (s.given + done) % period
		copy(window[done:done+piece], block[from:from+piece])
		done += piece
	}
	s.given += count
	return count, nil
}

type job struct {
	trace           *trace
	n, most, each   int
	checking, wrong bool
	shown, waste    int
}

// Every result is kept here for a moment, so that it escapes.
var sink []byte

func (j *job) show(data []byte, capacity int) {
	sink = data
	if j.checking {
		for at := 0; at < len(data); at += warmBlock {
			piece := data[at:min(at+warmBlock, len(data))]
			from := (j.shown + at) % period
			j.wrong = j.wrong || !bytes.Equal(piece, block[from:from+len(piece)])
		}
	}
	j.shown += len(data)
	j.waste = capacity - len(data)
	sink = nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(3)
	}
}

// https://pkg.go.dev/io#ReadAll
func readAll(j *job) {
	data, err := io.ReadAll(&source{n: j.n, most: j.most, trace: j.trace})
	must(err)
	if t := j.trace; t != nil && len(t.regions) > 1 { // pieces of their own, and one copy of all at the end
		t.copied, t.peakHeld = j.n, cap(data)
		for _, region := range t.regions {
			t.peakHeld += region
		}
	} else if t != nil {
		t.peakHeld = cap(data)
	}
	j.show(data, cap(data))
}

// https://pkg.go.dev/bytes#Buffer.ReadFrom, which io.Copy (https://pkg.go.dev/io#Copy) uses
func bufferCopy(j *job) {
	var buffer bytes.Buffer
	_, err := io.Copy(&buffer, &source{n: j.n, most: j.most, trace: j.trace})
	must(err)
	if t := j.trace; t != nil { // one piece that moves into a larger one, all of it each time
		held := 0
		for i, region := range t.regions {
			capacity := t.before[i] + region
			t.copied += t.before[i]
			t.peakHeld = max(t.peakHeld, held+capacity)
			held = capacity
		}
	}
	j.show(buffer.Bytes(), buffer.Cap())
}

// https://pkg.go.dev/io#ReadFull, for a length that is known
func readFull(j *job) {
	data := make([]byte, j.n)
	_, err := io.ReadFull(&source{n: j.n, most: j.most, trace: j.trace}, data)
	must(err)
	if j.trace != nil {
		j.trace.peakHeld = cap(data)
	}
	j.show(data, cap(data))
}

// https://pkg.go.dev/bytes#Buffer.Write, WriteByte for one byte
func bufferPush(j *job) {
	var buffer bytes.Buffer
	for at := 0; at < j.n; {
		count := min(j.each, j.n-at)
		if count == 1 {
			buffer.WriteByte(block[at%period])
		} else {
			buffer.Write(block[at%period : at%period+count])
		}
		at += count
	}
	j.show(buffer.Bytes(), buffer.Cap())
}

var rows = []struct {
	name string
	body func(*job)
}{
	{"go-readall", readAll},
	{"go-buffer-copy", bufferCopy},
	{"go-readfull", readFull},
	{"go-buffer-push", bufferPush},
}

func faults() int64 {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return usage.Minflt
}

func run(j *job, body func(*job), bodies int) float64 {
	started := time.Now()
	for range bodies {
		j.shown = 0
		body(j)
	}
	return float64(time.Since(started).Nanoseconds())
}

// Allocations are what Go's runtime counts. The peak is what was in use at once: garbage that was not yet collected is not
// in it.
func count(j *job, body func(*job)) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	run(j, body, 1)
	runtime.ReadMemStats(&after)
	j.trace = &trace{}
	run(j, body, 1)
	fmt.Printf("{\"allocations\": %d, \"allocated\": %d, \"peak\": %d, \"copied\": %d, \"waste\": %d}\n",
		after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc, j.trace.peakHeld, j.trace.copied, j.waste)
	j.trace = nil
}

func main() {
	if len(os.Args) < 2 {
		for _, row := range rows {
			fmt.Println(row.name)
		}
		return
	}
	var body func(*job)
	for _, row := range rows {
		if row.name == os.Args[1] {
			body = row.body
		}
	}
	if body == nil {
		must(fmt.Errorf("no row %s", os.Args[1]))
	}
	j := &job{most: int(^uint(0) >> 1), each: warmBlock}
	for _, option := range os.Args[2:] {
		name, text, _ := strings.Cut(option, "=")
		value, _ := strconv.Atoi(text)
		switch name {
		case "n":
			j.n = value
		case "most":
			j.most = value
			j.each = min(value, warmBlock)
		case "each":
			j.each = value
		}
	}
	fmt.Println("ready")
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		words := strings.Fields(commands.Text())
		switch {
		case words[0] == "run":
			bodies, err := strconv.Atoi(words[1])
			must(err)
			run(j, body, bodies/10+1)
			before := faults()
			took := run(j, body, bodies)
			fmt.Printf("%.3f %.3f\n", took/float64(bodies), float64(faults()-before)/float64(bodies))
		case words[0] == "cold":
			before := faults()
			took := run(j, body, 1)
			fmt.Printf("%.3f %d\n", took, faults()-before)
		case words[0] == "check":
			j.checking = true
			run(j, body, 1)
			j.checking = false
			if j.wrong || j.shown != j.n {
				fmt.Println("wrong")
			} else {
				fmt.Println("right")
			}
		case words[0] == "count":
			count(j, body)
		case words[0] == "tell":
			fmt.Println("{}")
		case words[0] == "rest":
			fmt.Println("resting")
		default:
			must(fmt.Errorf("no such command: %s", commands.Text()))
		}
	}
}
