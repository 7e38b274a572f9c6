import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

// The first is the same browser without its own windows, and needs half the time of a processor.
const programs = [
  "chromium-headless-shell",
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
];

/** The browser to drive, or undefined where none is installed. */
export function findChromium(): string | undefined {
  for (const name of programs) {
    for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
      const file = join(folder, name);
      try {
        if (folder === "") continue;
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        continue;
      }
    }
  }
  return undefined;
}

/** Without a window; it trusts these keys, and finds every name below `.test` on this machine. */
export function launchChromium(
  executablePath: string,
  trusted: readonly { readonly spkiHash: string }[],
): Promise<Browser> {
  return chromium.launch({
    executablePath,
    // Chromium refuses to build its sandbox as root.
    chromiumSandbox: process.getuid?.() !== 0,
    // People go back to pages that are kept as they were.
    ignoreDefaultArgs: ["--disable-back-forward-cache"],
    args: [
      `--ignore-certificate-errors-spki-list=${trusted.map(({ spkiHash }) => spkiHash).join(",")}`,
      "--host-resolver-rules=MAP *.test 127.0.0.1",
    ],
  });
}
