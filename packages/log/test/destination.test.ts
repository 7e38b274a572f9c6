import { execFile } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { getDefaultHighWaterMark } from "node:stream";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { createDestination, createLogger, type Destination } from "@svc/log";
import { ConfigurationError } from "@svc/options";
import { until } from "@svc/test-support";
import { expect } from "chai";
import { messagesOf, moduleOf, run, start } from "./support/child.ts";
import { WRITE, type WriteCall } from "../src/destination.ts";

/** A fake reader that accepts a set number of bytes. */
class Reader {
  text = "";
  calls = 0;
  /** Number of bytes that the reader accepts before it stops. `refuse`: error code with which every write fails. */
  room = Infinity;
  refuse: string | undefined;

  readonly write: WriteCall = (_fd, bytes, offset, length) => {
    this.calls++;
    if (this.refuse !== undefined) throw Object.assign(new Error(this.refuse), { code: this.refuse });
    if (this.room === 0) throw Object.assign(new Error("full"), { code: "EAGAIN" });
    const taken = Math.min(length, this.room);
    this.room -= taken;
    this.text += bytes.toString("latin1", offset, offset + taken);
    return taken;
  };

  destination(maxQueuedBytes = 64 * 1024): Destination {
    return createDestination({ maxQueuedBytes, [WRITE]: this.write });
  }

  lines(): string[] {
    return Buffer.from(this.text, "latin1").toString().split("\n").slice(0, -1);
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

describe("createDestination()", () => {
  it("LOG-1 writes all lines of an event-loop iteration with one call", async () => {
    const reader = new Reader();
    const destination = reader.destination();
    for (let i = 0; i < 100; i++) destination.write(`line ${i}\n`);
    expect(reader.calls).to.equal(0);
    await turn();
    expect(reader.calls).to.equal(1);
    expect(reader.lines()).to.have.length(100);
    expect(destination.queuedBytes).to.equal(0);
  });

  it("writes before the end of an event-loop iteration once 64 KiB are waiting", () => {
    const reader = new Reader();
    const destination = reader.destination(1024 * 1024);
    for (let i = 0; i < 700; i++) destination.write(`${"x".repeat(99)}\n`);
    expect(reader.calls).to.equal(1);
    destination.flushSync();
    expect(reader.lines()).to.have.length(700);
  });

  it("LOG-1 continues after a partial write, even in the middle of a character", async () => {
    const reader = new Reader();
    const destination = reader.destination();
    const expected = Array.from({ length: 50 }, (_, i) => `${i} grüße 🙂`);
    reader.room = 7;
    for (const line of expected) destination.write(`${line}\n`);
    await turn();
    expect(destination.queuedBytes).to.be.above(0);
    const flushed = new Promise<void>((resolve) => destination.flush(() => resolve()));
    reader.room = Infinity;
    await flushed;
    expect(reader.lines()).to.deep.equal(expected);
  });

  it("keeps a bounded queue for a reader that stops, and reports the number of dropped lines", async () => {
    const reader = new Reader();
    reader.room = 0;
    const destination = reader.destination(10_000);
    for (let i = 0; i < 5000; i++) {
      destination.write(`${JSON.stringify({ message: i, pad: "x".repeat(80) })}\n`);
      if (i % 100 === 0) await turn();
      expect(destination.queuedBytes).to.be.at.most(10_000);
    }
    expect(destination.droppedLines).to.be.above(4000);
    const flushed = new Promise<void>((resolve) => destination.flush(() => resolve()));
    reader.room = Infinity;
    await flushed;
    destination.write('{"message":"flows again"}\n');
    destination.flushSync();
    const messages = messagesOf(reader.text);
    const dropped = destination.droppedLines;
    expect(messages.slice(0, -2)).to.deep.equal(Array.from({ length: 5000 - dropped }, (_, i) => i));
    expect(messages.slice(-2)).to.deep.equal([`${dropped} log lines were dropped`, "flows again"]);
  });

  it("LOG-1 drops no line of a reader that reads, even one that exceeds the limit", async () => {
    const reader = new Reader();
    const destination = reader.destination(1024);
    const expected = [
      "first",
      "x".repeat(5000),
      ...Array.from({ length: 50 }, (_, i) => `line ${i} ${"x".repeat(90)}`),
    ];
    for (const line of expected) destination.write(`${line}\n`);
    await turn();
    expect(reader.lines()).to.deep.equal(expected);
    expect(destination.droppedLines).to.equal(0);
  });

  it("drops lines while the rest of a line that exceeds the limit waits for the reader", () => {
    const reader = new Reader();
    const destination = reader.destination(1024);
    reader.room = 100;
    destination.write(`${"x".repeat(80_000)}\n`);
    expect(destination.queuedBytes).to.equal(79_901);
    for (let i = 0; i < 3; i++) destination.write("small\n");
    expect(destination.queuedBytes).to.equal(79_901);
    reader.room = Infinity;
    destination.flushSync();
    const [long, report, ...rest] = reader.lines();
    expect(long).to.have.length(80_000);
    expect(report).to.contain("3 log lines were dropped");
    expect(rest).to.deep.equal([]);
    expect(destination.droppedLines).to.equal(3);
  });

  it("LOG-2 reports dropped lines in a record with the logger's service and env", async () => {
    const reader = new Reader();
    reader.room = 0;
    const destination = reader.destination(1024);
    const logger = createLogger({ service: "shop", env: "local", destination });
    logger.info("kept");
    await turn();
    logger.info({ pad: "x".repeat(2000) }, "too long");
    reader.room = Infinity;
    logger.flush();
    expect(JSON.parse(reader.lines()[1] ?? "")).to.include({
      level: "warn",
      service: "shop",
      env: "local",
      dropped_lines: 1,
      message: "1 log line was dropped",
    });
  });

  it("drops and counts all lines after the reader closes, and never throws", async () => {
    const reader = new Reader();
    const destination = reader.destination();
    destination.write("1\n");
    destination.write("2\n");
    reader.refuse = "EPIPE";
    await turn();
    destination.write("3\n");
    destination.flushSync();
    let isFlushed = false;
    destination.flush(() => (isFlushed = true));
    expect(destination.droppedLines).to.equal(3);
    expect(destination.queuedBytes).to.equal(0);
    expect(isFlushed).to.equal(true);
    expect(reader.calls).to.equal(1);
  });

  it("queues lines while the disk is full", async () => {
    const reader = new Reader();
    const destination = reader.destination();
    reader.refuse = "ENOSPC";
    destination.write("1\n");
    await turn();
    expect(destination.queuedBytes).to.equal(2);
    const flushed = new Promise<void>((resolve) => destination.flush(() => resolve()));
    reader.refuse = undefined;
    await flushed;
    expect(reader.text).to.equal("1\n");
  });

  it("writes a fatal line immediately", () => {
    const reader = new Reader();
    const logger = createLogger({ service: "shop", env: "local", destination: reader.destination() });
    logger.info("before");
    expect(reader.calls).to.equal(0);
    logger.fatal("now");
    expect(messagesOf(reader.text)).to.deep.equal(["before", "now"]);
  });

  it("writes to the given file descriptor", () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-log-"));
    const fd = openSync(join(folder, "lines"), "w");
    const destination = createDestination({ fd });
    destination.write("a\n");
    destination.flushSync();
    closeSync(fd);
    expect(readFileSync(join(folder, "lines"), "utf8")).to.equal("a\n");
    rmSync(folder, { recursive: true });
  });

  it("rejects invalid options", () => {
    expect(() => createDestination({ fd: -1, maxQueuedBytes: 1, exitWaitMs: 1e9 }))
      .to.throw(ConfigurationError)
      .with.property("faults")
      .that.has.length(3);
  });
});

describe("standard output of a process", () => {
  const hundred = `for (let i = 0; i < 100; i++) logger.info(String(i));`;
  const expected = Array.from({ length: 100 }, (_, i) => String(i));

  it("LOG-1 LOG-5 contains every line when the process ends normally", async () => {
    expect(await run(hundred)).to.deep.include({ code: 0, messages: expected, stderr: "" });
  });

  it("LOG-1 contains every line when the code calls process.exit", async () => {
    expect(await run(`${hundred} process.exit(3);`)).to.deep.include({ code: 3, messages: expected });
  });

  it("LOG-1 contains every line when an exception is not caught", async () => {
    const { code, messages, stderr } = await run(`${hundred} throw new Error("boom");`);
    expect(messages).to.deep.equal(expected);
    expect(code).to.equal(1);
    expect(stderr).to.contain("boom");
  });

  it("LOG-1 contains a last line of more than 8 MiB", async () => {
    // As above, the child's clock is stopped, so that it waits for this process to read its output.
    const { code, messages } = await run(`
      logger.info("first");
      performance.now = () => 0;
      setImmediate(() => logger.info({ pad: "x".repeat(9_000_000) }, "huge"));
    `);
    expect({ code, messages }).to.deep.equal({ code: 0, messages: ["first", "huge"] });
  });

  it("LOG-1 contains the lines of a SIGTERM handler that calls process.exit", async () => {
    const { code, messages } = await run(`
      setInterval(() => {}, 1000);
      process.on("SIGTERM", () => { logger.info("stopping"); process.exit(0); });
      logger.info("up");
      process.kill(process.pid, "SIGTERM");
    `);
    expect({ code, messages }).to.deep.equal({ code: 0, messages: ["up", "stopping"] });
  });

  it("LOG-1 contains lines that are logged while the process exits", async () => {
    const { messages } = await run(`
      logger.info("first");
      process.on("exit", () => logger.info("last"));
    `);
    expect(messages).to.deep.equal(["first", "last"]);
  });

  it("LOG-1 contains complete lines of several loggers, even beyond the capacity of a pipe", async () => {
    // At exit, the child waits at most a second for this process to read its output. The child's clock is stopped, so
    // that the second never passes on a slow machine.
    const { messages } = await run(`
      const other = createLogger({ service: "shop", env: "local" });
      const pad = "x".repeat(500);
      for (let i = 0; i < 2000; i++) (i % 2 === 0 ? logger : other).info({ pad }, String(i));
      performance.now = () => 0;
      process.exit(0);
    `);
    expect(messages).to.deep.equal(Array.from({ length: 2000 }, (_, i) => String(i)));
  });

  it("does not end the process when the reader closes the pipe", async () => {
    // The reader creates this file after it has closed the pipe.
    const closed = join(mkdtempSync(join(tmpdir(), "svc-log-")), "closed");
    const script = moduleOf(`
      import { existsSync } from "node:fs";
      logger.info("first");
      const waiting = setInterval(() => {
        if (!existsSync(process.env.CLOSED)) return;
        clearInterval(waiting);
        logger.info("into the void");
        process.stdout.write("printed\\n", (error) => {
          // After this callback, the stream emits the error.
          setImmediate(() => { console.error("still here after", error.code); process.exit(7); });
        });
      }, 5);
    `);
    const reader = `{ head -1; exec <&-; : > "$CLOSED"; }`;
    const command = `"$NODE" --conditions=@svc/source --input-type=module -e "$SCRIPT" 2>&3 | ${reader}; echo "\${PIPESTATUS[0]}"`;
    try {
      const { stdout } = await promisify(execFile)("bash", ["-c", `exec 3>&1; ${command}`], {
        cwd: fileURLToPath(new URL("..", import.meta.url)),
        env: { ...process.env, NODE: process.execPath, SCRIPT: script, CLOSED: closed },
      });
      const [first, ...rest] = stdout.trim().split("\n");
      expect(messagesOf(first ?? "")).to.deep.equal(["first"]);
      expect(rest).to.deep.equal(["still here after EPIPE", "7"]);
    } finally {
      rmSync(dirname(closed), { recursive: true });
    }
  });

  it("without a reader, neither blocks the process nor grows without limit, and reports dropped lines once it is read", async () => {
    // The parent's stream reads this many bytes ahead without a consumer. Fill it first, so that it drains nothing from
    // the pipe during the test.
    const readAhead = getDefaultHighWaterMark(false);
    await using child = start(`
      import { once } from "node:events";
      import { standardOutput } from "./src/destination.ts";
      standardOutput().write("\\n".repeat(${readAhead}));
      await once(process, "message");
      const pad = "x".repeat(1000);
      const before = process.memoryUsage().rss;
      let written = 0;
      // With its clock stopped, a loop that waits for time to pass never ends.
      performance.now = Date.now = () => 0;
      let waits = 0;
      Atomics.wait = () => { waits++; return "timed-out"; };
      const timer = setInterval(() => {
        for (let i = 0; i < 5000; i++) logger.info({ pad }, String(written++));
        if (written < 300_000) return;
        clearInterval(timer);
        const out = standardOutput();
        process.send({ waits, grown: process.memoryUsage().rss - before, queued: out.queuedBytes, dropped: out.droppedLines });
        // Queued lines do not keep a process alive, and at its end a process waits at most a second for its reader.
        const alive = setInterval(() => undefined, 60_000);
        const end = () => { clearInterval(alive); process.disconnect(); };
        process.once("message", () => out.flush(() => { logger.info("the end"); out.flush(end); }));
      }, 1);
    `);
    await until("the stream is full", () => child.process.stdout?.readableLength === readAhead);
    child.process.send("start");
    const [report] = (await once(child.process, "message")) as [Record<string, number>];
    expect(report["queued"])
      .to.be.above(1024 * 1024)
      .and.at.most(8 * 1024 * 1024);
    expect(report["dropped"]).to.be.above(250_000);
    // The child logged 330 MB, which an unbounded queue would hold completely.
    expect(report["grown"]).to.be.below(150 * 1024 * 1024);
    expect(report["waits"]).to.equal(0);
    let text = "";
    child.process.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
    child.process.send("go");
    await once(child.process, "close");
    const messages = messagesOf(text);
    const kept = 300_000 - (report["dropped"] ?? 0);
    expect(messages.slice(0, kept)).to.deep.equal(Array.from({ length: kept }, (_, i) => String(i)));
    expect(messages.slice(kept)).to.deep.equal([`${report["dropped"]} log lines were dropped`, "the end"]);
  }).timeout(60_000);

  it("without a reader, does not prevent process.exit()", async () => {
    await using child = start(`
      const pad = "x".repeat(1000);
      for (let i = 0; i < 1000; i++) logger.info({ pad }, String(i));
      process.exit(5);
    `);
    expect(await child.ended).to.deep.equal({ code: 5, signal: null });
  });
});
