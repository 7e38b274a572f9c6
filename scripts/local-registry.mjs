// Starts an npm registry on the loopback interface for scripts/test-registry.mjs. It stores the packages `@svc/*`, and fetches all
// others from the registry that npm is configured to use.
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// Installed only when it is needed: it brings about 320 packages and 65 MB.
const verdaccio = "6.10.4";

/**
 * Installs and starts the registry.
 *
 * @param work - an empty folder for the registry's program and its packages
 * @returns `url`, the registry's address with a slash at the end; `token`, for publishing; `stop()`, which resolves when
 *   the process has ended
 */
export async function startRegistry(work) {
  const [tools, storage] = ["tools", "storage"].map((name) => join(work, name));
  for (const folder of [tools, storage]) mkdirSync(folder, { recursive: true });
  // A dependency of Verdaccio asks for `node-fetch@cjs`, a tag that mirrors of the registry may lack.
  const manifest = { private: true, overrides: { "node-fetch": "2.7.0" } };
  writeFileSync(join(tools, "package.json"), JSON.stringify(manifest));
  npm(["install", "--no-audit", "--no-fund", "--loglevel=error", `verdaccio@${verdaccio}`], tools);
  const uplink = npm(["config", "get", "registry"], tools).trim();

  const child = fork(join(import.meta.dirname, "verdaccio.mjs"), [tools, storage, uplink], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const [port] = await Promise.race([
    once(child, "message"),
    once(child, "exit").then(([code]) => {
      throw new Error(`Verdaccio ended with code ${code} before it listened`);
    }),
  ]);
  const url = `http://127.0.0.1:${port}/`;
  return {
    url,
    token: await createUser(url),
    async stop() {
      if (!child.connected) return;
      const ended = once(child, "exit");
      child.disconnect();
      await ended;
    },
  };
}

async function createUser(url) {
  const user = { name: "publisher", password: crypto.randomUUID() };
  const response = await fetch(`${url}-/user/org.couchdb.user:${user.name}`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(user),
  });
  const { token } = await response.json();
  if (token === undefined) throw new Error(`the registry created no user: ${response.status}`);
  return token;
}

function npm(args, cwd) {
  const { status, stdout, stderr } = spawnSync("npm", args, {
    cwd,
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} failed:\n${stdout}${stderr}`);
  return stdout;
}
