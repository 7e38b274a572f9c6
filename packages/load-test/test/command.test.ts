import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { until } from "@svc/test-support";
import { expect } from "chai";
import { command, short } from "./support/command.ts";
import { startTarget, type Target } from "./support/target.ts";
import type { LoadReport } from "@svc/load-test";

const token = "eyJhbGciOiJub25lIn0.secret.part";
const itemById = {
  openapi: "3.1.0",
  paths: { "/items": { get: {} }, "/items/{id}": { get: { parameters: [{ in: "path", name: "id" }] } } },
};

describe("the command", () => {
  let folder: string;
  const file = (name: string): string => join(folder, name);

  before("a folder", async () => {
    folder = await mkdtemp(join(tmpdir(), "load-test-"));
  });

  after("remove the folder", async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it("LOAD-1 loads the routes of the description, and prints a table and the skipped routes", async () => {
    await using target = await startTarget({ description: itemById });
    const { code, stdout, stderr } = await command([target.url, ...short, "-c", "1,2"]);
    expect([code, stderr]).to.deep.equal([0, ""]);
    const lines = stdout.split("\n");
    expect(lines.slice(0, 2)).to.deep.equal([
      `${target.url}: 1 route, 0.1 s per step, closed loop`,
      "skipped GET /items/{id}: path parameter id has no example, default or enum",
    ]);
    expect(lines[3]).to.match(/^clients +requests\/s +p50 +p95 +p99 +max +2xx +other +errors +CPU +verdict$/);
    expect(lines[4]).to.match(/^ +1( +[\d.,]+){1}( +[\d.,]+ ms){4}( +[\d,]+){3} +\d+ % {2}ok$/);
    expect(stdout).to.include("\nbreak: none\nsaturation: ");
    expect(new Set(target.received)).to.deep.equal(new Set(["GET /items"]));
  });

  it("LOAD-2 prints JSON with the whole report for --json", async () => {
    await using target = await startTarget();
    const { stdout } = await command([target.url, "--json", ...short]);
    const report = JSON.parse(stdout) as LoadReport;
    expect([report.url, report.loop, report.secondsPerStep, report.steps.length]).to.deep.equal([
      target.url,
      "closed",
      0.1,
      1,
    ]);
    expect(report.steps[0]?.statuses).to.deep.equal({ 200: report.steps[0]?.requests });
  });

  it("LOAD-2 sends the method, the body, the headers and the token of the command line", async () => {
    const content = { "application/json": { example: { name: "cup" } } };
    const description = { openapi: "3.1.0", paths: { "/items": { post: { requestBody: { content } } } } };
    await using target = await startTarget({ description });
    const flags = ["--method", "POST", "-H", "X-Tenant: acme", "--token", token];
    await command([target.url, ...flags, ...short]);
    const sent = target.requests.filter(({ line }) => line === "POST /items");
    expect(sent.length).to.be.above(0);
    for (const { body, headers } of sent) {
      expect(body).to.equal('{"name":"cup"}');
      expect(headers).to.include({ "x-tenant": "acme", authorization: `Bearer ${token}` });
      expect(headers["content-type"]).to.equal("application/json");
    }
  });

  it("LOAD-3 exits with 1 for a break only with --fail-on-break", async () => {
    await using target = await startTarget({ answer: (_, res) => res.writeHead(503).end() });
    const { code, stdout } = await command([target.url, ...short]);
    expect(code).to.equal(0);
    expect(stdout).to.match(/BROKEN\n/);
    expect(stdout).to.include("2 clients: broken: 100.00 % of errors is over 1 %\n");
    expect(stdout).to.match(/2 clients: errors: [\d,]+ 5xx\n2 clients: responses: [\d,]+ with 503\n/);
    expect(stdout).to.include("\nbreak: at 2 clients\n");
    expect((await command([target.url, "--fail-on-break", ...short])).code).to.equal(1);
    const lax = ["--fail-on-break", "--max-error-rate", "100", ...short];
    expect((await command([target.url, ...lax])).code).to.equal(0);
  });

  it("LOAD-3 exits with 1 when the p99 is over --max-p99-ms", async () => {
    await using target = await startTarget({ answer: (_, res) => void setTimeout(() => res.end(), 5) });
    const { code, stdout } = await command([target.url, "--fail-on-break", ...short, "--max-p99-ms", "1"]);
    expect(code).to.equal(1);
    expect(stdout).to.match(/broken: p99 of \d+\.\d ms is over 1 ms/);
  });

  it("LOAD-5 prints the checks of /ready that are not ok beside the step", async () => {
    const checks = { cache: { healthy: false, detail: "the cache does not answer", critical: true } };
    await using target = await startTarget({ checks });
    const { stdout } = await command([target.url, ...short]);
    expect(stdout).to.include("\n2 clients: not ready: cache (critical): the cache does not answer\n");
  });

  it("reads the token from the first line of a file or of standard input", async () => {
    await using target = await startTarget();
    await writeFile(file("token"), `${token}\nsecond line\n`);
    await command([target.url, "--token-file", file("token"), ...short]);
    await command([target.url, "--token-file", "-", ...short], { input: `${token}-2\r\nrest` });
    const sent = new Set(target.requests.map(({ headers }) => headers.authorization));
    expect(sent).to.deep.equal(new Set([`Bearer ${token}`, `Bearer ${token}-2`]));
  });

  it("LOAD-2 never writes the token or a header to an output, a script or a report", async () => {
    const checks = { auth: { healthy: false, detail: `the token ${token} is bad`, critical: false } };
    const description = {
      openapi: "3.1.0",
      paths: { [`/by/${token}/{id}`]: { get: {} }, "/items": { get: {} } },
    };
    await using target = await startTarget({ checks, description });
    const outputs = ["--k6", file("k6.js"), "--html", file("report.html")];
    const secrets = ["--token", token, "-H", "X-Key: hunter2"];
    const plain = await command([target.url, ...outputs, ...secrets, ...short], { isTTY: true });
    const json = await command([target.url, "--json", ...secrets, ...short]);
    const written = await Promise.all(
      [file("k6.js"), file("report.html")].map((name) => readFile(name, "utf8")),
    );
    for (const each of [plain.stdout, plain.stderr, json.stdout, json.stderr, ...written]) {
      expect(each).not.to.include(token);
      expect(each).not.to.include("hunter2");
    }
    expect(plain.stdout).to.include("the token [token] is bad");
  });

  it("exits with 2 if a file cannot be written, before it loads the service", async () => {
    for (const flag of ["--html", "--k6"]) {
      await using target = await startTarget();
      const { code, stderr } = await command([target.url, flag, join(folder, "no", "file"), ...short]);
      expect(stderr).to.equal(`load-test: ${flag} ${join(folder, "no", "file")} cannot be used: ENOENT\n`);
      expect([code, target.received]).to.deep.equal([2, []]);
    }
  });

  it("exits with code 2 and prints the reason if there is no route to load", async () => {
    await using target = await startTarget({ descriptionStatus: 404 });
    const { code, stdout, stderr } = await command([target.url, ...short]);
    expect(stderr).to.equal(
      "load-test: GET /openapi.json answered 404; give --route to load without a description\n",
    );
    expect([code, stdout]).to.deep.equal([2, ""]);
  });

  it("prints the results so far and exits with 130 when it is interrupted", async () => {
    const interruption = new AbortController();
    let count = 0;
    await using target = await startTarget({
      answer: (_, res) => {
        if (++count === 50) interruption.abort();
        res.end();
      },
    });
    const flags = ["-c", "2,4", "-d", "60", "--warm-up", "0", "--html", file("part.html"), "--fail-on-break"];
    const { code, stdout } = await command([target.url, ...flags], { signal: interruption.signal });
    expect(code).to.equal(130);
    expect(stdout).to.match(/^ +2 .* interrupted$/m);
    expect(stdout).to.match(/\ninterrupted: the last step is not complete\n$/);
    expect(await readFile(file("part.html"), "utf8")).to.include("interrupted");
    expect(target.requests.some(({ line }) => line === "GET /ready")).to.equal(false);
  });

  it("exits with 130 when it is interrupted while it reads the description", async () => {
    const interruption = new AbortController();
    await using target = await startTarget();
    target.server.removeAllListeners("request");
    target.server.on("request", () => interruption.abort());
    const { code, stdout, stderr } = await command([target.url], { signal: interruption.signal });
    expect([code, stdout, stderr]).to.deep.equal([130, "", ""]);
  });
});

describe("the program", () => {
  const program = fileURLToPath(new URL("../src/bin.ts", import.meta.url));
  const start = (target: Target, ...flags: readonly string[]) =>
    spawn(process.execPath, ["--conditions=@svc/source", program, target.url, "--warm-up", "0", ...flags], {
      stdio: ["pipe", "pipe", "inherit"],
    });

  it("ends with the exit code of the command, even if its input is open", async () => {
    await using target = await startTarget({ answer: (_, res) => res.writeHead(500).end() });
    const child = start(target, "-c", "1", "-d", "0.1", "--fail-on-break", "--token-file", "-");
    child.stdin.write(`${token}\n`);
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    child.stdin.destroy();
    expect(code).to.equal(1);
    expect(output).to.include("BROKEN");
  });

  it("ends with the exit code of the command and without a message, even if the reader of its output has ended", async () => {
    const child = spawn(process.execPath, ["--conditions=@svc/source", program, "--help"], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    const [errors, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
    expect([errors, code]).to.deep.equal(["", 0]);
  });

  it("hides its arguments from the process list, and ends with 130 and the table after SIGINT", async () => {
    await using target = await startTarget();
    const child = start(target, "-c", "1", "-d", "60", "--token", token);
    const output = text(child.stdout);
    const exited = once(child, "exit");
    await until("the first request", () => target.received.length > 0);
    if (process.platform === "linux")
      expect(await readFile(`/proc/${child.pid}/cmdline`, "utf8")).not.to.include(token);
    child.kill("SIGINT");
    expect((await exited)[0]).to.equal(130);
    expect(await output).to.match(/^ +1 .* interrupted$/m);
  });
});
