import { type Browser, chromium } from "playwright-core";

/** Starts a headless Chromium that trusts these keys and resolves every name below `.test` to this machine. */
export function launchChromium(
  executablePath: string,
  trusted: readonly { readonly spkiHash: string }[],
): Promise<Browser> {
  return chromium.launch({
    executablePath,
    // Chromium cannot create its sandbox as root.
    chromiumSandbox: process.getuid?.() !== 0,
    // Real browsers restore pages from the back-forward cache.
    ignoreDefaultArgs: ["--disable-back-forward-cache"],
    args: [
      `--ignore-certificate-errors-spki-list=${trusted.map(({ spkiHash }) => spkiHash).join(",")}`,
      "--host-resolver-rules=MAP *.test 127.0.0.1",
    ],
  });
}
