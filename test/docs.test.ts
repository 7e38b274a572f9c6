import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describeConfig, loggingTable, serviceTable } from "@svc/config";
import { createService, type Service } from "@svc/express";
import type { variablesOf } from "@svc/options";
import { refusalReasons } from "@svc/jwt-auth";
import { defineRollup } from "@svc/rollups";
import { codeBlocks, signToken } from "@svc/test-support";
import { builtInPlugins } from "../packages/express/src/plugins/built-in.ts";
import { expect } from "chai";

const root = join(import.meta.dirname, "..");
const operate = read("docs/operate.md");

describe("the documents", () => {
  const files = globSync("{,docs/,packages/*/,examples/**/,bench/**/,experiments/**/,test/**/}*.md", {
    cwd: root,
    exclude: (path) => /(^|[/\\])(node_modules|dist|CHANGELOG\.md)$/.test(path),
  });

  it("link to existing files and headings", () => {
    expect(files).to.include.members(["README.md", join("docs", "operate.md")]);
    const broken = files.flatMap((file) =>
      linksOf(read(file))
        .filter((link) => !resolves(file, link))
        .map((link) => `${file}: ${link}`),
    );
    expect(broken).to.deep.equal([]);
  });

  it("list every package in the README's table, with its install command", () => {
    const readme = read("README.md");
    const folders = globSync("packages/*/package.json", { cwd: root });
    expect(folders).to.have.length.above(10);
    for (const file of folders) {
      const { name, private: hidden } = JSON.parse(read(file)) as { name: string; private?: boolean };
      const row = rowsOf(readme).find(([first = ""]) => first.includes(`\`${name}\``));
      expect(row, name).to.have.lengthOf(3);
      expect(row?.[2]).to.match(
        hidden === true ? /private/ : new RegExp(`^\`(npm install (express )?${name}|npx ${name} <url>)\`$`),
      );
    }
  });
});

describe("the tables of source files", () => {
  const readmes = globSync("packages/*/README.md", { cwd: root }).filter((file) =>
    read(file).includes("\n## Source files\n"),
  );

  it("list exactly the source files of their packages", () => {
    expect(readmes).to.have.length.above(4);
    for (const file of readmes) {
      const section = read(file).split("\n## Source files\n")[1] ?? "";
      const listed = rowsOf(section).flatMap(([first = ""]) => matches(first, /`([^`]+\.ts)`/g));
      const sources = globSync("**/*.ts", { cwd: join(root, dirname(file), "src") });
      const expected = sources
        .map((each) => each.replaceAll("\\", "/"))
        .filter((each) => each !== "index.ts");
      expect(listed.toSorted(), file).to.deep.equal(expected.toSorted());
    }
  });
});

describe("docs/errors.md", () => {
  const documented = read("docs/errors.md");
  const sources = globSync("packages/*/src/**/*.ts", { cwd: root }).map(read).join("\n");

  it("ERR-1 explains exactly the error codes that the sources contain", () => {
    const inSources = matches(sources, /\b(ERR_SVC_\w+)|\bcode: "(ERR_\w+)"/g);
    const explained = rowsOf(documented).flatMap(([first = ""]) => matches(first, /`(ERR_\w+)`/g));
    expect(inSources).to.have.length.above(35);
    expect([...new Set(explained)].toSorted()).to.deep.equal([...new Set(inSources)].toSorted());
  });

  it("names every error class", () => {
    for (const name of matches(sources, /class (\w+Error) extends/g)) expect(documented).to.include(name);
  });

  it("states the status of each problem code", () => {
    const rows = rowsOf(documented);
    const problems = [...sources.matchAll(/(\d{3}): \["[^"]+", "(ERR_SVC_\w+)"\]/g)];
    expect(problems).to.have.length.above(14);
    for (const [, status = "", code = ""] of problems) {
      expect(rows.find(([first]) => first === `\`${code}\``)?.[1], code).to.equal(status);
    }
  });
});

describe("docs/operate.md", () => {
  const [toml = ""] = codeBlocks(operate, "toml");
  const keys = matches(toml, /^#? ?(\w+) = /gm);
  const nowhere = { write: () => undefined };
  /** Options that plugins require in code. */
  const code = {
    rollups: {
      monthly: defineRollup({
        name: "monthly_totals",
        source: { table: "expenses", tenantColumn: "tenant", timeColumn: "paid_at" },
        measures: { total: { sql: "sum(amount)", type: "numeric(14, 2)" } },
        timeZone: "UTC",
      }),
    },
    rag: { embed: () => [] },
  };
  const env = {
    DATABASE_URL: "postgres://app@127.0.0.1:9/app",
    REDIS_URL: "redis://127.0.0.1:9",
    KEY_SET_URL: "https://127.0.0.1:9/jwks",
    PUBLIC_KEY: "not read in this mode",
    SECRET: "not read in this mode",
    COOKIE_SECRET: "at least 32 bytes, drawn at random",
    MICROSOFT_SECRET: "from the console of the provider",
  };

  it("CFG-18 shows every key of the configuration file with its default", async () => {
    const required = { toml: '[service]\nname = "expenses"\nenv = "prod"\n' + pluginsOf(toml) };
    await using given = await createService({
      ...code,
      config: { toml },
      env,
      signals: false,
      logDestination: nowhere,
    });
    await using left = await createService({
      ...code,
      config: required,
      env,
      signals: false,
      logDestination: nowhere,
    });
    expect(describeConfig(given.config)).to.deep.equal(describeConfig(left.config));

    const tables = [serviceTable, loggingTable, ...builtInPlugins.map(({ options }) => options)];
    const all = [...tables.flatMap((table) => keysOf(table)), "enabled"];
    expect(keys.toSorted()).to.deep.equal(all.toSorted());
  });

  it("names only existing keys of the configuration file, including those without a default", async () => {
    // Omit token issuing, which needs an existing key file; the plugin's own tests cover it.
    const issuing = /^# signing_keys = .*$/m;
    expect(toml).to.match(issuing);
    // Omit a fixed tenant, which is refused together with the plugin tenancy.
    const tenant = /^# tenant = .*$/m;
    expect(toml).to.match(tenant);
    // Omit the issuers, which are refused together with the key set of a single issuer; @svc/express tests them.
    const issuers = /^# \[plugin\.auth\.issuers\.\w+\]\n(?:# \w+ = .*\n)+/m;
    expect(toml).to.match(issuers);
    const everything = toml
      .replace(issuers, "")
      .replace(issuing, "")
      .replace(tenant, "")
      .replaceAll(/^# (\w+ = |\[)/gm, "$1");
    await using service = await createService({
      ...code,
      config: { toml: everything },
      env,
      signals: false,
      logDestination: nowhere,
    });
    expect(service.config.service.maxConnections).to.equal(10_000);
    expect(service.config.plugin.auth?.providers["microsoft"]?.clientId).to.match(/^1/);
    const named = matches(operate, /`\[[\w.]+\] (\w+)`|^- \*\*`(\w+)`\*\*/gm);
    expect(named).to.have.length.above(12);
    expect(named.filter((key) => !keys.includes(key))).to.deep.equal([]);
  });

  it("MET-3 MET-4 MET-5 MET-6 lists exactly the existing metrics with type and labels", async () => {
    await using service = await createService({
      ...code,
      // A service with a worker also has the metrics of jobs.
      role: "server",
      config: { toml },
      env,
      signals: false,
      logDestination: nowhere,
    });
    const there = (service.metrics?.registry.getMetricsAsArray() ?? []) as unknown as Metric[];
    const listed = rowsOf(section(operate, "Metrics")).flatMap(([names = "", type = "", labels = ""]) =>
      matches(names, /`((?:http|service|nodejs|process|svc_search|svc_ingest)_[\w{},]+)`/g)
        .flatMap(expanded)
        .map((name) => [name, type, matches(labels, /`(\w+)`/g)] as const),
    );
    const onLinux = ["process_virtual_memory_bytes", "process_open_fds", "process_max_fds"];
    const known = new Map(listed.map(([name, ...rest]) => [name, rest]));
    for (const { name, labelNames } of there)
      expect(known.get(name)?.[1], name).to.deep.equal([...labelNames]);
    const types = await service.metrics?.registry.metrics();
    for (const [name, type] of listed) {
      if (process.platform === "linux" || !onLinux.includes(name))
        expect(types).to.include(`# TYPE ${name} ${type}`);
    }
  });

  it("LOG-1 lists every log field that a service writes while it starts, serves, fails and stops", async () => {
    const lines: Record<string, unknown>[] = [];
    await runOnce((line) => lines.push(JSON.parse(line) as Record<string, unknown>));
    const fields = new Set(
      rowsOf(section(operate, "Log lines")).flatMap(([names = ""]) => matches(names, /`(\w+)`/g)),
    );
    expect(lines.map(({ message }) => message)).to.include.members([
      "starting",
      "listening",
      "request",
      "stopping",
    ]);
    expect([...new Set(lines.flatMap(Object.keys))].filter((name) => !fields.has(name))).to.deep.equal([]);
    const phases = lines.filter(({ message }) => message === "stopping").map(({ phase }) => phase);
    const table = rowsOf(section(operate, "Stopping")).map(([first = ""]) => first.replaceAll("`", ""));
    expect(table.filter((name) => phases.includes(name))).to.deep.equal(phases);
    expect(phases).to.have.lengthOf(7);
  });
});

describe("the section on callers in docs/operate.md", () => {
  const callers = section(operate, "Callers");
  const cells = rowsOf(callers).map(([first = ""]) => first);

  it("AUTH-11 explains exactly the reasons for refusing a token", () => {
    const [, table = ""] = callers.split(/^### /m);
    const explained = rowsOf(table).flatMap(([first = ""]) => matches(first, /`(\w+)`/g));
    expect(explained.toSorted()).to.deep.equal([...refusalReasons, "reason", "revoked"].toSorted());
  });

  it("RDY-14 RDY-25 LOG-1 quotes the details of /ready and the log lines while the issuer is down", async () => {
    const lines: Record<string, unknown>[] = [];
    const toml = [
      '[service]\nname = "expenses"\nport = 0\n[plugins]\nenabled = ["auth"]',
      '[plugin.auth]\njwks_url = "http://127.0.0.1:1/jwks?key=1"\njwks_attempts = 1',
    ].join("\n");
    const service: Service = await createService({
      config: { toml },
      env: {},
      signals: false,
      logDestination: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) },
      routes(app) {
        app.get("/open", (_req, res) => void res.json({}));
      },
    });
    await service.start();
    const url = `http://127.0.0.1:${service.address?.port}`;
    const token = signToken({}, "no key of the issuer", { alg: "RS256", kid: "k" });
    const open = await fetch(`${url}/open`, { headers: { Authorization: `Bearer ${token}` } });
    const ready = await fetch(`${url}/ready`);
    expect([open.status, ready.status]).to.deep.equal([200, 503]);
    const { auth } = ((await ready.json()) as { checks: Record<string, { detail: string }> }).checks;
    expect(cells).to.include(`\`${auth?.detail}\``);
    expect(await service.stop()).to.equal(0);
    expect(lines.find(({ message }) => message === "bearer token refused")).to.include({
      level: "info",
      reason: "keys_unavailable",
    });
    const lost = lines.find(({ message }) => String(message).includes("could not be fetched"));
    expect(callers).to.include(`\`${String(lost?.["message"])}\``);
    expect(JSON.stringify(lines)).not.to.include("key=1");
    const fields = rowsOf(section(operate, "Log lines")).flatMap(([first = ""]) =>
      matches(first, /`(\w+)`/g),
    );
    expect([...new Set(lines.flatMap(Object.keys))].filter((name) => !fields.includes(name))).to.deep.equal(
      [],
    );
  });
});

/** The members of a prom-client metric that its public types omit. */
interface Metric {
  readonly name: string;
  readonly labelNames: readonly string[];
}

async function runOnce(write: (line: string) => void): Promise<void> {
  const service: Service = await createService({
    config: { toml: '[service]\nname = "expenses"\nport = 0\n' },
    env: {},
    signals: false,
    logDestination: { write },
    routes(app) {
      app.get("/broken", () => {
        throw new Error("on purpose");
      });
    },
  });
  await service.start();
  const url = `http://127.0.0.1:${service.address?.port}`;
  for (const path of ["/broken", "/ready"]) await (await fetch(url + path)).text();
  expect(await service.stop()).to.equal(0);
}

/** Expands `a_{b,c}_d` to `a_b_d` and `a_c_d`. */
function expanded(name: string): string[] {
  const [, before = "", options, after = ""] = /^(.*)\{(.*)\}(.*)$/.exec(name) ?? [];
  return options === undefined ? [name] : options.split(",").map((each) => before + each + after);
}

/** Returns only the required settings of a configuration. */
function pluginsOf(toml: string): string {
  const needed =
    '[plugin.cache]\nurl = "${REDIS_URL}"\n[plugin.auth]\njwks_url = "${KEY_SET_URL}"\n[plugin.tenancy]\nbase_domain = "example.com"\n' +
    "[plugin.rag]\ndimensions = 384\n" +
    '[plugin.http.upstreams.billing]\nbase_url = "http://127.0.0.1:8010"\n' +
    '[plugin.gateway.routes.api]\nprefix = "/api"\ntargets = ["http://127.0.0.1:8010"]\n';
  return `[plugins]\n${/^enabled = .*$/m.exec(toml)?.[0]}\n[plugin.database]\nurl = "\${DATABASE_URL}"\n${needed}`;
}

function section(markdown: string, heading: string): string {
  return markdown.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
}

/** Returns the cells of every table row, including header rows, without the delimiter rows. */
function rowsOf(markdown: string): string[][] {
  return [...markdown.matchAll(/^\|(.*)\|$/gm)]
    .map(([, row = ""]) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    .filter(([first = ""]) => !/^[-: ]+$/.test(first));
}

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(
    (match) => match.slice(1).find((group) => group !== undefined) ?? "",
  );
}

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

function withoutCode(markdown: string): string {
  return markdown
    .replaceAll(/^ *```[^]*?^ *```$/gm, "")
    .replaceAll(/`[^`\n]*`/g, (code) => "x".repeat(code.length));
}

function linksOf(markdown: string): string[] {
  return matches(withoutCode(markdown), /\]\(<?([^)\s>]+)>?\)/g).filter((link) => !/^[a-z]+:/.test(link));
}

function resolves(file: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? join(root, file) : resolve(root, dirname(file), path);
  if (!existsSync(target)) return false;
  return (
    anchor === undefined || (statSync(target).isFile() && anchorsOf(readFileSync(target, "utf8")).has(anchor))
  );
}

/** Returns the anchors of the headings, formed as GitHub does. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const heading of matches(markdown.replaceAll(/^ *```[^]*?^ *```$/gm, ""), /^#{1,6} (.+)$/gm)) {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(/\s/g, "-");
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    anchors.add(before === 0 ? slug : `${slug}-${before}`);
  }
  return anchors;
}

/**
 * Returns the keys of a configuration table and of its nested tables, without the names of the nested tables and without
 * keys that are refused.
 */
function keysOf({ keys }: Parameters<typeof variablesOf>[0]): string[] {
  return Object.values(keys).flatMap((entry) => {
    if ("kind" in entry) return "not" in (entry.kind.schema ?? {}) ? [] : (entry.key ?? []);
    return keysOf("table" in entry ? entry.table : entry.each);
  });
}
