// Runs Verdaccio on a free port of the loopback interface as a child process of scripts/local-registry.mjs: reports the port, and
// ends when its parent ends.
import { createRequire } from "node:module";
import { join } from "node:path";

const [tools, storage, uplink] = process.argv.slice(2);
const { runServer } = createRequire(join(tools, "package.json"))("verdaccio");
const server = await runServer({
  configPath: join(storage, "config.yaml"),
  storage,
  uplinks: { npm: { url: uplink, timeout: "60s", max_fails: 10 } },
  auth: { htpasswd: { file: join(storage, "htpasswd") } },
  packages: {
    // The packages of this repository come only from here, even if other versions exist elsewhere.
    "@svc/*": { access: "$all", publish: "$authenticated" },
    "**": { access: "$all", proxy: "npm" },
  },
  // The largest tarball has about 130 kB; the JSON document of a publication contains it as base64.
  max_body_size: "10mb",
  web: { enable: false },
  log: { type: "stdout", format: "json", level: "warn" },
});
server.listen(0, "127.0.0.1", () => process.send(server.address().port));
process.on("disconnect", () => process.exit());
// Ctrl+C reaches all processes of the terminal; this one ends after those that use it.
process.on("SIGINT", () => {});
