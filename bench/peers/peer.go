// bench/peers/peer.go -- the workloads of bench/local.c and bench/remote.c in Go: goroutines that own a channel each.
//
//	peer WORKLOAD THREADS NUMBER...
//
// Channels are bounded, as mailboxes are; messages carry what the other side's carry. Every answer is checked.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const mailbox = 1024

var threads, a, b int

func report(workload, metric string, value float64, format string, args ...any) {
	fmt.Printf("%s go %s %s %.1f\n", workload, fmt.Sprintf(format, args...), metric, value)
}

func check(holds bool, what string) {
	if !holds {
		fmt.Fprintln(os.Stderr, "peer:", what)
		os.Exit(1)
	}
}

func perSecond(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// Not from getrusage: its figure also knows the program that started this one.
func peakMiB() float64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, after, found := strings.Cut(string(text), "VmHWM:")
	check(found, "cannot read /proc/self/status")
	kib, _ := strconv.ParseFloat(strings.Fields(after)[0], 64)
	return kib / 1024
}

func cpuMs() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}

func resident() int {
	text, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.Atoi(strings.Fields(string(text))[1])
	return pages * os.Getpagesize()
}

func yield() {
	var both sync.WaitGroup
	both.Add(2)
	start := time.Now()
	for i := 0; i < 2; i++ {
		go func() {
			for k := 0; k < a; k++ {
				runtime.Gosched()
			}
			both.Done()
		}()
	}
	both.Wait()
	report("ctxswitch", "ns_per_switch", float64(time.Since(start).Nanoseconds())/float64(2*a), "yield,threads=%d,n=%d", threads, a)
}

type ping struct{ from chan ping }

func pingpong() {
	mine, other := make(chan ping, 1), make(chan ping, 1)
	go func() {
		for m := range other {
			m.from <- ping{other}
		}
	}()
	start := time.Now()
	for i := 0; i < a; i++ {
		other <- ping{mine}
		<-mine
	}
	took := time.Since(start)
	report("pingpong", "ns_per_msg", float64(took.Nanoseconds())/float64(2*a), "threads=%d,n=%d", threads, a)
	report("pingpong", "msgs_per_s", perSecond(2*a, took), "threads=%d,n=%d", threads, a)
}

// awaitEither takes from the channel that is ready; it has to be the one whose turn it is.
func awaitEither(turn int, messages, events chan struct{}) {
	ready := 0
	select {
	case <-messages:
	case <-events:
		ready = 1
	}
	check(ready == turn%2, "either: the other channel")
}

func wakeEither(turn int, messages, events chan struct{}) {
	if turn%2 == 0 {
		messages <- struct{}{}
	} else {
		events <- struct{}{}
	}
}

func either() {
	var at [4]chan struct{}
	for i := range at {
		at[i] = make(chan struct{}, 1)
	}
	go func() {
		for i := 0; i < a; i++ {
			awaitEither(i, at[2], at[3])
			wakeEither(i, at[0], at[1])
		}
	}()
	start := time.Now()
	for i := 0; i < a; i++ {
		wakeEither(i, at[2], at[3])
		awaitEither(i, at[0], at[1])
	}
	report("either", "ns_per_wake", float64(time.Since(start).Nanoseconds())/float64(2*a), "threads=%d,n=%d", threads, a)
}

type request struct {
	number int
	answer chan int
}

func call() {
	requests := make(chan request, 1)
	go func() {
		for r := range requests {
			r.answer <- r.number + 1
		}
	}()
	answer := make(chan int, 1) // for all calls: a new channel for each takes longer
	start := time.Now()
	for i := 0; i < a; i++ {
		requests <- request{i, answer}
		check(<-answer == i+1, "call: a wrong answer")
	}
	report("call", "ns_per_call", float64(time.Since(start).Nanoseconds())/float64(a), "threads=%d,n=%d", threads, a)
}

func ring() {
	first := make(chan int, 1)
	done := make(chan int)
	in := first
	for i := 0; i < a; i++ {
		next := make(chan int, 1)
		if i == a-1 {
			next = first
		}
		go func(index int, in, next chan int) {
			for left := range in {
				if left == 0 {
					done <- index
					return
				}
				next <- left - 1
			}
		}(i, in, next)
		in = next
	}
	start := time.Now()
	first <- b
	last := <-done
	took := time.Since(start)
	check(last == b%a, "ring: ended elsewhere")
	report("ring", "ns_per_hop", float64(took.Nanoseconds())/float64(b), "threads=%d,actors=%d,hops=%d", threads, a, b)
}

func counting() {
	box := make(chan int, mailbox)
	start := time.Now()
	for i := 0; i < a; i++ {
		go func() {
			for k := 0; k < b/a; k++ {
				box <- 1
			}
		}()
	}
	for i := 0; i < b/a*a; i++ {
		<-box
	}
	took := time.Since(start)
	report("counting", "msgs_per_s", perSecond(b/a*a, took), "threads=%d,producers=%d,n=%d", threads, a, b)
}

type note struct {
	from int32
	pong bool
}

func big() {
	boxes := make([]chan note, a)
	for i := range boxes {
		boxes[i] = make(chan note, 2*a) // never full: each has one ping under way
	}
	done := make(chan bool, a)
	start := time.Now()
	for i := range boxes {
		go func(me int) {
			random, ponged := uint32(me)*2654435761+12345, 0
			ask := func() {
				random = (random*1103515245 + 12345) & 0x7fffffff
				boxes[int(random>>8)%a] <- note{int32(me), false}
			}
			ask()
			for m := range boxes[me] {
				if !m.pong {
					boxes[m.from] <- note{int32(me), true}
				} else if ponged++; ponged < b {
					ask()
				} else {
					done <- true
				}
			}
		}(i)
	}
	for i := 0; i < a; i++ {
		<-done
	}
	took := time.Since(start)
	report("big", "msgs_per_s", perSecond(2*a*b, took), "threads=%d,actors=%d,pings=%d", threads, a, b)
}

func create() {
	var alive sync.WaitGroup
	alive.Add(a)
	start := time.Now()
	for i := 0; i < a; i++ {
		box := make(chan int, 1)
		go func() { <-box; alive.Done() }()
		box <- 1
	}
	alive.Wait()
	took := time.Since(start)
	report("spawn", "spawns_per_s", perSecond(a, took), "create,threads=%d,n=%d", threads, a)
	report("spawn", "peak_rss_mib", peakMiB(), "create,threads=%d,n=%d", threads, a)
}

func branch(parent chan<- int, number, leaves int) {
	if leaves == 1 {
		parent <- number
		return
	}
	sums, sum := make(chan int, 10), 0
	for i := 0; i < 10; i++ {
		go branch(sums, number+i*(leaves/10), leaves/10)
	}
	for i := 0; i < 10; i++ {
		sum += <-sums
	}
	parent <- sum
}

func tree() {
	sum := make(chan int)
	start := time.Now()
	go branch(sum, 0, a)
	check(<-sum == a*(a-1)/2, "tree: a wrong sum")
	took := time.Since(start)
	report("spawn", "wall_ms", took.Seconds()*1e3, "tree,threads=%d,n=%d", threads, a)
	report("spawn", "peak_rss_mib", peakMiB(), "tree,threads=%d,n=%d", threads, a)
}

func fanout() {
	type body [16]byte
	var alive sync.WaitGroup
	alive.Add(a)
	boxes := make([]chan *body, a)
	for i := range boxes {
		box := make(chan *body, 64)
		boxes[i] = box
		go func() {
			for k := 0; k < b; k++ {
				<-box
			}
			alive.Done()
		}()
	}
	start := time.Now()
	for k := 0; k < b; k++ {
		m := new(body)
		for _, box := range boxes {
			box <- m
		}
	}
	alive.Wait()
	took := time.Since(start)
	report("fanout", "deliveries_per_s", perSecond(a*b, took), "topic,threads=%d,subs=%d,msgs=%d", threads, a, b)
}

func idle() {
	boxes := make([]chan int, a)
	for i := range boxes {
		boxes[i] = make(chan int)
	}
	for i := range boxes { // touched before, so that the slice does not count
		boxes[i] = nil
	}
	runtime.GC()
	before := resident()
	for i := range boxes {
		box := make(chan int)
		boxes[i] = box
		go func() { <-box }()
	}
	time.Sleep(300 * time.Millisecond)
	report("idle", "bytes_per_actor", float64(resident()-before)/float64(a), "plain,n=%d", a)
	for _, box := range boxes {
		box <- 1
	}
}

func timers() {
	const bins, binUs = 300000, 10
	var late [bins]uint32
	var alive sync.WaitGroup
	alive.Add(a)
	random, cpu, start := uint32(42), cpuMs(), time.Now()
	for i := 0; i < a; i++ {
		random = (random*1103515245 + 12345) & 0x7fffffff
		span := time.Duration(b)*time.Millisecond + time.Duration(int(random>>8)%1000000+1)*time.Microsecond
		go func() {
			from := start // as in bench/timers.c
			if b == 0 {
				from = time.Now()
			}
			time.Sleep(span - time.Since(from))
			bin := (time.Since(from) - span).Microseconds() / binUs
			if bin >= bins {
				bin = bins - 1
			}
			atomic.AddUint32(&late[bin], 1)
			alive.Done()
		}()
	}
	spawned := time.Since(start)
	alive.Wait()
	wall := time.Since(start)
	params := fmt.Sprintf("base_ms=%d,threads=%d,n=%d", b, threads, a)
	report("timers", "spawn_ms", spawned.Seconds()*1e3, params)
	report("timers", "wall_ms", wall.Seconds()*1e3, params)
	report("timers", "cpu_ms", cpuMs()-cpu, params)
	for _, share := range []struct {
		name string
		of   float64
	}{{"late_p50_us", .5}, {"late_p99_us", .99}, {"late_max_us", 1}} {
		seen, bin := 0.0, 0
		for ; bin < bins-1; bin++ {
			if seen += float64(late[bin]); seen >= share.of*float64(a) {
				break
			}
		}
		report("timers", share.name, float64(bin*binUs), params)
	}
}

// The other process of the remote workloads: echoes, or counts and says so.
func serve(mode string, size, n int) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err == nil, "cannot listen")
	fmt.Println(listener.Addr())
	conn, err := listener.Accept()
	check(err == nil, "cannot accept")
	in, frame := bufio.NewReaderSize(conn, 65536), make([]byte, size)
	for i := 0; i < n; i++ {
		if _, err := io.ReadFull(in, frame); err != nil {
			os.Exit(1)
		}
		if mode == "rtt" {
			_, _ = conn.Write(frame)
		}
	}
	_, _ = conn.Write([]byte{1})
	_, _ = conn.Read(frame) // until the other closes
}

func connect(mode string, size, n int) (net.Conn, *exec.Cmd) {
	server := exec.Command(os.Args[0], "serve", mode, strconv.Itoa(size), strconv.Itoa(n))
	out, _ := server.StdoutPipe()
	check(server.Start() == nil, "cannot start the other process")
	address, _ := bufio.NewReader(out).ReadString('\n')
	conn, err := net.Dial("tcp", strings.TrimSpace(address))
	check(err == nil, "cannot connect")
	return conn, server
}

func rtt() {
	const warm = 1000
	conn, server := connect("rtt", a, b+warm)
	frame, took := make([]byte, a), make([]float64, 0, b)
	for i := 0; i < b+warm; i++ {
		start := time.Now()
		_, _ = conn.Write(frame)
		_, err := io.ReadFull(conn, frame)
		check(err == nil, "rtt: the other process is gone")
		if i >= warm {
			took = append(took, float64(time.Since(start).Nanoseconds())/1e3)
		}
	}
	conn.Close()
	_ = server.Wait()
	sort.Float64s(took)
	report("remote", "p50_us", took[b/2], "rtt,size=%d,n=%d", a, b)
	report("remote", "p99_us", took[b*99/100], "rtt,size=%d,n=%d", a, b)
}

func oneway() {
	conn, server := connect("oneway", a, b)
	frame, out := make([]byte, a), bufio.NewWriterSize(conn, 65536)
	start := time.Now()
	for i := 0; i < b; i++ {
		_, _ = out.Write(frame)
	}
	_ = out.Flush()
	_, err := io.ReadFull(conn, frame[:1])
	took := time.Since(start)
	check(err == nil, "oneway: the other process is gone")
	conn.Close()
	_ = server.Wait()
	report("remote", "msgs_per_s", perSecond(b, took), "oneway,size=%d,n=%d", a, b)
}

func main() {
	number := func(i int) int {
		if i >= len(os.Args) {
			return 0
		}
		n, err := strconv.Atoi(os.Args[i])
		check(err == nil, "not a number: "+os.Args[i])
		return n
	}
	if len(os.Args) == 5 && os.Args[1] == "serve" {
		serve(os.Args[2], number(3), number(4))
		return
	}
	workloads := map[string]func(){"yield": yield, "pingpong": pingpong, "either": either, "call": call, "ring": ring,
		"counting": counting, "big": big,
		"create": create, "tree": tree, "fanout": fanout, "idle": idle, "timers": timers, "rtt": rtt, "oneway": oneway}
	check(len(os.Args) > 3 && workloads[os.Args[1]] != nil, "usage: peer WORKLOAD THREADS NUMBER...")
	threads, a, b = number(2), number(3), number(4)
	runtime.GOMAXPROCS(threads)
	workloads[os.Args[1]]()
}
