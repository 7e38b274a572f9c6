// `npm run lint:openapi`: checks the documents of the example with Redocly and Spectral. Exits with 1 for an error, a warning,
// or a document that is not the same at two starts. Both linters come from the registry, so `npm test` does not run them.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { configuration } from "../src/configuration.ts";
import { documentWith } from "./document-with.ts";

const REDOCLY = "@redocly/cli@2.77.0";
const SPECTRAL = "@stoplight/spectral-cli@6.16.3";

/** The JSON output of a linter. */
interface Findings {
  readonly errors: number;
  readonly warnings: number;
  readonly texts: readonly string[];
}

const place = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "svc-openapi-"));
try {
  const issuer = "http://127.0.0.1:1";
  const provider = {
    issuer,
    clientId: "expenses",
    clientSecret: "a secret of the demo",
    authorizationEndpoint: `${issuer}/auth`,
    tokenEndpoint: `${issuer}/token`,
    jwksUri: `${issuer}/jwks`,
    stop: () => Promise.resolve(),
  };
  const redirectUri = "http://localhost:8000/auth/demo/callback";
  // The demo of `npm start`, with a provider and rate limits.
  const demo = configuration({ demo: { provider, redirectUri } }).toml;
  const limited = demo.replace(/^(enabled = .*)\]$/m, '$1, "rate_limit"]');
  const all = {
    "service.toml": undefined,
    "npm start": { toml: limited },
  };
  let isClean = true;
  for (const [name, config] of Object.entries(all)) {
    const document = await documentWith(config);
    const file = join(folder, "openapi.json");
    writeFileSync(file, document);
    const isSame = document === (await documentWith(config));
    if (!isSame) isClean = false;
    process.stdout.write(
      `${name}: ${document.length} bytes, ${isSame ? "" : "not "}the same at two starts\n`,
    );
    for (const [linter, run] of [
      [REDOCLY, () => redocly(file)],
      [SPECTRAL, () => spectral(file)],
    ] as const) {
      const { errors, warnings, texts } = await run();
      if (errors + warnings > 0) isClean = false;
      process.stdout.write(`  ${linter}: ${errors} errors, ${warnings} warnings\n`);
      for (const text of texts) process.stdout.write(`    ${text}\n`);
    }
  }
  process.exitCode = isClean ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function redocly(file: string): Promise<Findings> {
  const { totals, problems } = await jsonOf<{
    readonly totals: { readonly errors: number; readonly warnings: number; readonly ignored: number };
    readonly problems: readonly {
      readonly ruleId: string;
      readonly message: string;
      readonly location: readonly { readonly pointer: string }[];
    }[];
  }>([REDOCLY, "lint", file, "--config", place("redocly.yaml"), "--format=json"]);
  // Count ignored problems as errors: an ignored problem disables a rule without stating a reason.
  return {
    errors: totals.errors + totals.ignored,
    warnings: totals.warnings,
    texts: problems.map(
      ({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer ?? ""} ${message}`,
    ),
  };
}

async function spectral(file: string): Promise<Findings> {
  const found = await jsonOf<
    readonly {
      readonly code: string;
      readonly severity: number;
      readonly message: string;
      readonly path: readonly string[];
    }[]
  >([SPECTRAL, "lint", file, "--ruleset", place("spectral.yaml"), "--format=json", "--quiet"]);
  const errors = found.filter(({ severity }) => severity === 0).length;
  return {
    errors,
    warnings: found.length - errors,
    texts: found.map(({ code, message, path }) => `${code} ${path.join("/")} ${message}`),
  };
}

/** Runs a command with npx, and returns its JSON output. */
async function jsonOf<T>(args: readonly string[]): Promise<T> {
  const child = spawn("npx", ["--yes", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  await new Promise((resolve, reject) => child.on("error", reject).on("close", resolve));
  try {
    return JSON.parse(out) as T;
  } catch (cause) {
    throw new Error(`npx ${args.join(" ")} printed no JSON: ${out}${err}`, { cause });
  }
}
