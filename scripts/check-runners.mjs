// Runs the same test of an application with the packed packages in sample projects of Jest (CommonJS and ES modules), Vitest and
// node:test (both), with the settings of docs/typescript.md.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const jest = { program: "jest", args: ["--rootDir", "."], options: "--experimental-vm-modules" };
const nodeTest = {
  program: process.execPath,
  args: ["--test", "--test-reporter=tap"],
  imports: ["node:test", "test"],
};
const projects = {
  "jest-commonjs": { ...jest, moduleSystem: "commonjs" },
  "jest-modules": { ...jest, moduleSystem: "module" },
  vitest: { program: "vitest", args: ["run"], moduleSystem: "module", imports: ["vitest", "test"] },
  "node-test-commonjs": { ...nodeTest, moduleSystem: "commonjs" },
  "node-test-modules": { ...nodeTest, moduleSystem: "module" },
};

/** Returns the faults. */
export function faultsOfRunners({ work, tarballs, command }) {
  const folder = join(work, "runners");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  const packed = ["context", "options", "problem", "request-id"].map((name) => tarballs.get(name));
  const install = [
    "install",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    "jest@30.5.2",
    "vitest@5.1.2",
    "express@5",
    ...packed,
  ];
  command("install the test runners", "npm", install, folder);
  return Object.entries(projects).flatMap(([name, project]) => faultsOf(name, project, folder, command));
}

function faultsOf(name, { program, args, options, moduleSystem, imports }, folder, command) {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: moduleSystem }));
  writeFileSync(join(project, "app.test.js"), testOf(moduleSystem, imports));
  const run = program === process.execPath ? program : join(folder, "node_modules/.bin", program);
  const { stdout, stderr } = command(`the sample project ${name}`, run, args, project, {
    NODE_OPTIONS: options ?? "",
    CI: "true",
    // Without this variable, Vitest prints colours.
    NO_COLOR: "1",
  });
  // Jest writes its summary to standard error, node:test as `# pass 2`.
  const passed = /(?:Tests:?\s+|# pass )2\b/.test(`${stdout}${stderr}`);
  return passed ? [] : [`the sample project ${name} did not pass two tests:\n${stdout}${stderr}`];
}

function testOf(moduleSystem, imports) {
  const needed = [
    ["node:http", "http"],
    ["express", "express"],
    ["@svc/problem", "{ notFound, problemHandler }"],
    ["@svc/request-id", "{ requestId }"],
    ["node:assert/strict", "assert"],
    ...(imports === undefined ? [] : [[imports[0], `{ ${imports[1]} }`]]),
  ];
  const lines = needed.map(([from, what]) =>
    moduleSystem === "module" ? `import ${what} from "${from}";` : `const ${what} = require("${from}");`,
  );
  return `${lines.join("\n")}

const app = express();
app.use(requestId());
app.get("/found", (_req, res) => res.json({ found: true }));
app.use(notFound(), problemHandler());

async function get(path) {
  const server = http.createServer(app).listen(0);
  try {
    return await fetch(\`http://127.0.0.1:\${server.address().port}\${path}\`);
  } finally {
    server.close();
  }
}

test("gives a response a request id", async () => {
  const { headers } = await get("/found");
  assert.match(headers.get("x-request-id"), /^[0-9a-f]{32}$/);
});

test("answers an unknown path with a problem", async () => {
  const response = await get("/unknown");
  assert.equal(response.status, 404);
  assert.equal(response.headers.get("content-type"), "application/problem+json");
});
`;
}
