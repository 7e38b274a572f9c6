import { type Browser, chromium } from "playwright-core";

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
