import { spawnSync } from "node:child_process";
import type { MetricsMiddleware } from "@svc/metrics";

/** Returns the samples of a registry's text: name and labels as keys, with their values. */
export async function samples(of: MetricsMiddleware, prefix = ""): Promise<Record<string, string>> {
  const lines = (await of.registry.metrics()).split("\n");
  return Object.fromEntries(
    lines
      .filter((line) => line.startsWith(prefix) && !line.startsWith("#") && line !== "")
      .map((line) => {
        const space = line.lastIndexOf(" ");
        return [line.slice(0, space), line.slice(space + 1)];
      }),
  );
}

/** Returns the output of `promtool check metrics`; empty without findings. */
export function promtoolFindings(promtool: string, text: string): string {
  const { status, stdout, stderr } = spawnSync(promtool, ["check", "metrics"], {
    input: text,
    encoding: "utf8",
  });
  const said = `${stdout}${stderr}`.trim();
  return status === 0 ? said : `exit code ${status}: ${said}`;
}
