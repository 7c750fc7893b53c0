// The HTTP server of the comparison with Go's net/http. It takes the options that the
// servers of lab/measure/src take, and does the same work for a request.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// From Linux's headers: package syscall has no names for them.
const (
	clockThreadCPU = 3
	setTimerSlack  = 29
	nanosecond     = 1
	spinsPerLook   = 1000
)

// What every handler does, as in lab/measure/src/work.rs.
var (
	workTime   time.Duration
	workEvery  uint64 = 1
	workSleeps bool
	requests   atomic.Uint64
)

var answer = []byte("Hello, World!")

func main() {
	address := flag.String("addr", "127.0.0.1:8080", "where to listen")
	workers := flag.Int("workers", runtime.NumCPU(), "how many threads run goroutines at once")
	work := flag.String("work", "", "hold a thread up for that long: 300us, 2ms/100")
	flag.BoolVar(&workSleeps, "work-sleeps", false, "sleep in the kernel for that long instead")
	flag.Parse()

	if err := prepare(*work); err != nil {
		fail(err)
	}
	runtime.GOMAXPROCS(*workers)
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		fail(err)
	}
	fmt.Printf("listening on %s\n", listener.Addr())
	fail(http.Serve(listener, http.HandlerFunc(handle)))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "Error:", err)
	os.Exit(1)
}

func prepare(work string) error {
	if work == "" {
		return nil
	}
	text, every, found := strings.Cut(work, "/")
	var err error
	if found {
		if workEvery, err = strconv.ParseUint(every, 10, 64); err != nil || workEvery == 0 {
			return fmt.Errorf("-work does not take %q", work)
		}
	}
	workTime, err = time.ParseDuration(text)
	return err
}

func handle(writer http.ResponseWriter, request *http.Request) {
	if workTime > 0 && (requests.Add(1)-1)%workEvery == 0 {
		perform()
	}
	writer.Header().Set("Content-Type", "text/plain")
	writer.Write(answer)
}

func perform() {
	if workSleeps {
		hold(workTime)
		return
	}
	for end := threadTime() + workTime; threadTime() < end; {
		for spin := 0; spin < spinsPerLook; spin++ {
		}
	}
}

// hold sleeps in the kernel. By a raw call the scheduler is not told, so that the thread
// keeps its turn, as it would if it computed.
func hold(duration time.Duration) {
	// The slack is the thread's, and goroutines change threads.
	syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, nanosecond, 0)
	rest := syscall.NsecToTimespec(int64(duration))
	for {
		pointer := uintptr(unsafe.Pointer(&rest))
		if _, _, err := syscall.RawSyscall(syscall.SYS_NANOSLEEP, pointer, pointer, 0); err != syscall.EINTR {
			return
		}
	}
}

// threadTime is the CPU time that this thread has used.
func threadTime() time.Duration {
	var now syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano())
}
