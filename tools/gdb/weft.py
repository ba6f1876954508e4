"""weft in gdb: actors, what each waits for and where, their stacks; in a live process and in a core file.

    (gdb) weft actors                 all actors of all nodes; `weft actors WORD`: lines that have the word
    (gdb) weft bt 0.17.1              the stack of one actor, in any state; a name or a kind is enough
    (gdb) weft frames 0.17.1          the same as frames of gdb: then bt, frame 3, info locals; `weft thread` ends it
    (gdb) weft record [COUNT]         the last events of each worker
    (gdb) weft node EXPRESSION        adds a weft_node * that no thread has (an embedded node at rest)

gdb loads the file of an installed weft by itself; otherwise: (gdb) source tools/gdb/weft.py. It needs libweft's debug
information (Debian: libweft0-dbgsym).

How it works. Each worker's thread has its worker in the thread-local wf_here; from there: node, workers, their slabs
of actors. A suspended actor stands at pf_context_parked with its registers on its stack, and the assembly has unwind
information for that place: an unwinder says that the caller of the thread's innermost frame is that place, with that
stack pointer, and gdb goes on from there. No register is written, so it works with core files.

An actor that has been idle for long is `parked`: its stack has been packed into a block (runtime/sched/park.c), and
its pages are gone. gdb cannot read them, so its stack is unpacked here and followed by frame pointers: weft is
compiled with them; functions compiled without them are left out."""
import struct

import gdb
import gdb.unwinder

STATES = ("new", "ready", "ready", "running", "waiting", "waiting", "waiting", "parked", "restarting")
NEW, UNPARKED, READY, RUNNING, WAITING, STACKLESS, IDLE, PARKED, DONE = range(9)
CHUNK = 64  # WF_SLAB_CHUNK
CACHE_LINE = 64  # WF_CACHE_LINE
LINES_MAX = 1000
KINDS = ("", "spawns", "sends to", "receives from", "waits for", "goes on", "ends")
# Registers by what gdb calls the architecture: stack pointer, program counter, and where in a suspended context
# (see context_*.S) the frame pointer and the address to go on at are, in words.
MACHINES = {"i386:x86-64": ("rsp", "rip", 5, 6), "aarch64": ("sp", "pc", 10, 11)}


def type_of(name):
    try:
        return gdb.lookup_type(name)
    except gdb.error:
        raise gdb.GdbError(f"there is no type {name}: libweft's debug information is not loaded "
                           "(Debian: apt install libweft0-dbgsym)") from None


def machine():
    name = gdb.selected_inferior().architecture().name()
    if name not in MACHINES:
        raise gdb.GdbError(f"not known on {name}")
    return MACHINES[name]


def atomic(value):
    """gdb shows _Atomic(T) as a T with a qualifier that its casts do not like."""
    return int(value.cast(type_of("unsigned long")))


def text(pointer):
    return pointer.string(errors="replace") if int(pointer) != 0 else ""


def pid_text(actor_id):
    return f"{actor_id >> 24 & 0xff}.{actor_id & 0xffffff}.{actor_id >> 32}"


# ---- Nodes and workers -----------------------------------------------------------------------------------------

class Nodes:
    """The nodes that `weft node` has named."""
    named = []


def workers_of_threads():
    """Maps the address of a worker to the thread that runs it."""
    found, was = {}, gdb.selected_thread()
    if was is None:
        raise gdb.GdbError("there is no process and no core file")
    pointer = type_of("struct wf_worker").pointer()
    frame = gdb.selected_frame()
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        try:
            worker = gdb.parse_and_eval("wf_here").cast(pointer)
        except gdb.error:  # a thread that has not loaded the library's variables
            continue
        if int(worker) != 0:
            found[int(worker)] = thread
    was.switch()
    frame.select()
    return found


def nodes():
    """Returns all nodes of threads, and those that the user has named."""
    worker, node = type_of("struct wf_worker").pointer(), type_of("struct weft_node").pointer()
    found = {int(n): n for n in Nodes.named}
    for address in workers_of_threads():
        n = gdb.Value(address).cast(worker)["set"].cast(node)
        found.setdefault(int(n), n)
    if not found:
        raise gdb.GdbError("no thread runs a node of weft; an embedded one can be named: weft node EXPRESSION")
    return list(found.values())


def workers(node):
    return [node["workers"]["at"][i].dereference() for i in range(int(node["workers"]["count"]))]


class Actor:
    def __init__(self, value, worker):
        self.value, self.worker, self.task = value, worker, value["task"]
        self.id, self.state = int(value["id"]), int(self.task["state"])

    def name(self):
        name, more = "", self.value["more"]
        entry = more["names"] if int(more) != 0 else None
        while entry is not None and int(entry) != 0:
            if atomic(entry["lost"]) == 0:
                name = text(entry["text"].cast(gdb.lookup_type("char").pointer()))
            entry = entry["next_of_actor"]
        return name

    def waits_for(self):
        return text(self.task["waits_for"]) if WAITING <= self.state <= PARKED else ""

    def mail_count(self):
        return int(self.value["mailbox_max"]) - 1 - int(self.value["spare_places"])

    def has_stack(self):
        return self.state in (READY, WAITING, IDLE) and int(self.task["coro"]["stack"]["base"]) != 0


def actors(node):
    pointer, letters = type_of("struct wf_actor").pointer(), type_of("char").pointer()
    for worker in workers(node):
        slab = (worker.address + 1).cast(type_of("struct wf_actors").pointer())["slab"]
        size = int(slab["item_bytes"])
        for chunk in range(atomic(slab["chunk_count"])):
            base = int(slab["chunks"][chunk])
            for i in range(CHUNK):
                value = gdb.Value(base + i * size).cast(letters).cast(pointer).dereference()
                if (atomic(value["slot"]["word"]) >> 32) % 2 == 1 and bool(value["listed"]):
                    yield Actor(value, worker)


def find(pid):
    for node in nodes():
        for actor in actors(node):
            if pid.split("@")[0] == pid_text(actor.id) or pid in (actor.name(), text(actor.value["kind"])):
                return actor
    raise gdb.GdbError(f"no actor {pid}; weft actors lists them")


# ---- Stacks ----------------------------------------------------------------------------------------------------

class Elsewhere(gdb.unwinder.Unwinder):
    """While `sp` is set the innermost frame's caller is a context that was suspended with that stack pointer."""

    def __init__(self):
        super().__init__("weft")
        self.sp = None

    def __call__(self, pending):
        if self.sp is None:
            return None
        sp, pc, _, _ = machine()
        word = type_of("unsigned long")
        here_sp, here_pc = (pending.read_register(name) for name in (sp, pc))
        # The innermost frame of the thread, and no other.
        if (int(here_sp.cast(word)), int(here_pc.cast(word))) != self.innermost:
            return None
        # gdb wants callers to be further up than what they call: the innermost frame is said to be below the context.
        info = pending.create_unwind_info(FrameId(gdb.Value(self.sp - 64).cast(here_sp.type), here_pc))
        info.add_saved_register(sp, gdb.Value(self.sp).cast(word))
        info.add_saved_register(pc, gdb.Value(self.parked).cast(word))
        return info

    def point(self, sp):
        """Switches to that context; None: back to the thread."""
        self.sp = None
        gdb.invalidate_cached_frames()
        if sp is None:
            return
        names, word = machine(), type_of("unsigned long")
        frame = gdb.newest_frame()
        self.innermost = tuple(int(frame.read_register(name).cast(word)) for name in names[:2])
        self.parked = int(gdb.parse_and_eval("(unsigned long)&pf_context_parked"))
        self.sp = sp
        gdb.invalidate_cached_frames()

    def first(self):
        """Returns the actor's innermost frame; before it are the thread's own frames, several if functions are
        inlined."""
        frame = gdb.newest_frame()
        while frame is not None and frame.pc() != self.parked:
            frame = frame.older()
        return frame


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


elsewhere = Elsewhere()
gdb.unwinder.register_unwinder(None, elsewhere, True)


class Place:
    """One line of a backtrace."""

    def __init__(self, pc, name, line):
        """`line`: what gdb knows of the source, a Symtab_and_line."""
        self.pc, self.name = pc, name
        self.file = line.symtab.filename if line.symtab is not None else gdb.solib_name(pc) or "?"
        self.where = f"{self.file}:{line.line}" if line.symtab is not None else self.file
        self.of_weft = self.file.startswith(sources()) or "libweft" in self.file or \
            (name or "").startswith(("weft_", "wf_", "pf_"))

    def __str__(self):
        return f"{self.pc:#018x} {self.name or '??'} ({self.where})"


def sources():
    """Returns the beginnings of the names of weft's own files."""
    file = "runtime/sched/worker.c"
    name = gdb.decode_line("wf_worker_turn")[1][0].symtab.filename
    root = name[:-len(file)] if name.endswith(file) else "/nowhere/"
    return tuple(root + folder for folder in ("runtime/", "actors/", "transport/"))


def place_at(pc):
    """Makes the Place of an address alone, for return addresses."""
    block = None
    try:
        block = gdb.block_for_pc(pc - 1)
    except gdb.error:
        pass
    while block is not None and block.function is None:
        block = block.superblock
    if block is not None:
        name = block.function.name
    else:
        name = gdb.execute(f"info symbol {pc - 1:#x}", to_string=True).split(" ")[0]
        name = None if name == "No" else name
    return Place(pc, name, gdb.find_pc_line(pc - 1))


def places_of_frames(frame):
    found = []
    while frame is not None and frame.is_valid():
        found.append(Place(frame.pc(), frame.name(), frame.find_sal()))
        try:
            frame = frame.older()
        except gdb.error:
            break
    return found


def unpacked(task):
    """Returns the stack of a parked task: its stack pointer, and the bytes from there up."""
    parked = task["coro"]["sp"].cast(type_of("struct parked").pointer()).dereference()
    stack = task["coro"]["stack"]
    sp, top = int(parked["sp"]), int(stack["base"]) + (int(stack["lines"]) - int(stack["colour"])) * CACHE_LINE
    at, words = parked["packed"], []
    index, left = 0, (top - sp) // 8
    while left > 0:
        mask, index = int(at[index]), index + 1
        for bit in range(min(left, 64)):
            present = mask >> bit & 1
            words.append(int(at[index]) if present else 0)
            index += present
        left -= min(left, 64)
    return sp, struct.pack(f"<{len(words)}Q", *words)


def places_of_parked(task):
    """Follows frame pointers: each frame begins with the caller's frame pointer and the return address."""
    sp, data = unpacked(task)
    _, _, frame_word, return_word = machine()

    def word(address):
        offset = address - sp
        return struct.unpack_from("<Q", data, offset)[0] if 0 <= offset <= len(data) - 8 else None

    found = [place_at(word(sp + 8 * return_word))]
    frame = word(sp + 8 * frame_word)
    while frame is not None and word(frame + 8) not in (None, 0):
        found.append(place_at(word(frame + 8)))
        older = word(frame)
        if older is None or older <= frame:
            break
        frame = older
    return found


def places(actor):
    if actor.state == RUNNING:
        thread, was = workers_of_threads().get(int(actor.worker.address)), gdb.selected_thread()
        if thread is None:
            return []
        thread.switch()
        found = places_of_frames(gdb.newest_frame())
        was.switch()
        return found
    if actor.state == PARKED:
        return places_of_parked(actor.task)
    if not actor.has_stack():
        return []
    elsewhere.point(int(actor.task["coro"]["sp"]))
    try:
        return places_of_frames(elsewhere.first())
    finally:
        elsewhere.point(None)


def where(actor):
    """Returns the line that called weft: the first one that is not in weft's own files."""
    return next((f"{place.name or '??'} ({place.where})" for place in places(actor) if not place.of_weft), "")


# ---- Commands --------------------------------------------------------------------------------------------------

class Weft(gdb.Command):
    """Actors of weft: weft actors, bt, frames, thread, record, node."""

    def __init__(self):
        super().__init__("weft", gdb.COMMAND_STACK, prefix=True)


class Actors(gdb.Command):
    """weft actors [WORD]: lists all actors, or those whose line has the word: what each waits for, and where."""

    def __init__(self):
        super().__init__("weft actors", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        shown = 0
        for node in nodes():
            print(f"node {node['name'].string()} ({int(node['incarnation']):016x}), "
                  f"{int(node['workers']['users'])} workers")
            for actor in actors(node):
                kind, name = text(actor.value["kind"]), actor.name()
                line = f"  {pid_text(actor.id):<12} {name + ' (' + kind + ')' if name else kind:<24} " \
                       f"{STATES[actor.state]:<10} {actor.waits_for():<12} mail {actor.mail_count()}"
                if shown < LINES_MAX:
                    line += "  " + where(actor)
                if argument in line:
                    shown += 1
                    print(line.rstrip())
                if shown == LINES_MAX:
                    print(f"  {LINES_MAX} lines; give a word that is in those you look for")
                    return


class Backtrace(gdb.Command):
    """weft bt PID|NAME|KIND: the stack of an actor."""

    def __init__(self):
        super().__init__("weft bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        actor = find(argument)
        found = places(actor)
        if not found:
            print("it is a handler, which has no stack between messages" if bool(actor.value["handles"])
                  else "it has not begun, and has no stack")
        for number, place in enumerate(found):
            print(f"#{number:<3} {place}")


class Frames(gdb.Command):
    """weft frames PID|NAME|KIND: the selected thread shows the actor's stack below its innermost function."""

    def __init__(self):
        super().__init__("weft frames", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        actor = find(argument)
        if actor.state == PARKED:
            raise gdb.GdbError("its stack is packed away: gdb cannot show its variables; weft bt shows its functions")
        if not actor.has_stack():
            raise gdb.GdbError("it runs, or has no stack: info threads, weft bt")
        elsewhere.point(int(actor.task["coro"]["sp"]))
        frame = elsewhere.first()
        frame.select()
        print(f"the actor's are those from frame {frame.level()} on; `weft thread` goes back")


class Thread(gdb.Command):
    """weft thread: the selected thread has its own stack again, after weft frames."""

    def __init__(self):
        super().__init__("weft thread", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        elsewhere.point(None)


class Record(gdb.Command):
    """weft record [COUNT]: the last events (20) in the flight recorder of each worker."""

    def __init__(self):
        super().__init__("weft record", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        most = int(argument or 20)
        pointer, letters = type_of("struct wf_record").pointer(), type_of("char").pointer()
        for node in nodes():
            for worker in workers(node):
                print(f"worker {int(worker['index'])} of {node['name'].string()}")
                ring = worker["recorder"]
                following, size = atomic(ring["next"]), 32
                space = int(ring["places"]) // size + 1 if int(ring["places"]) else 0
                for number in range(max(0, following // size - min(most, space)), following // size):
                    entry = gdb.Value(int(ring["at"]) + (number * size & int(ring["places"])))
                    entry = entry.cast(letters).cast(pointer).dereference()
                    mark = atomic(entry["mark"])
                    if mark & 0xffffffe0 == number * size & 0xffffffff:
                        print("  " + self.line(entry, mark & 15))

    @staticmethod
    def line(entry, kind):
        at, who, other = (atomic(entry[name]) for name in ("at", "who", "other"))
        value = atomic(entry["value"])
        value -= (value & 1 << 31) << 1
        said = KINDS[kind] if kind < len(KINDS) else f"event {kind}"
        if kind == 4:
            what = text(gdb.Value(other).cast(gdb.lookup_type("char").pointer())) if other else ""
        else:
            what = pid_text(other) if other else ""
        if kind in (2, 3):
            what += f", tag {value}"
        elif kind in (5, 6) and value:
            what = str(value)
        return f"{at / 1e9:.6f} {pid_text(who)} {said} {what}".rstrip()


class Node(gdb.Command):
    """weft node EXPRESSION: adds a weft_node * for the other commands."""

    def __init__(self):
        super().__init__("weft node", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        node = gdb.parse_and_eval(argument).cast(type_of("struct weft_node").pointer())
        print(f"node {node.dereference()['name'].string()}")
        Nodes.named.append(node)


for command in (Weft, Actors, Backtrace, Frames, Thread, Record, Node):
    command()
