import { readFile, writeFile } from "node:fs/promises";

/** Ratios by case. */
export type Ratios = Readonly<Record<string, number>>;
/** Ratios by platform, because ratios of different machines or major versions of Node are not comparable. */
export type Baseline = Readonly<Record<string, Ratios>>;

/** The platform of this process, for example `linux-x64-node24`. */
export const platform = `${process.platform}-${process.arch}-node${process.versions.node.split(".")[0]}`;

/**
 * Reads the recorded baseline; returns an empty one if the file does not exist.
 *
 * @throws Error that names the file when it is not a baseline
 */
export async function readBaseline(file: string | URL): Promise<Baseline> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    content = undefined;
  }
  if (!isBaseline(content)) {
    throw new Error(`${String(file)} is not a baseline: expected { "${platform}": { "<case>": <ratio> } }`);
  }
  return content;
}

/** Replaces one platform's ratios and keeps those of the other platforms. */
export async function recordBaseline(file: string | URL, ratios: Ratios): Promise<void> {
  const baseline = { ...(await readBaseline(file)), [platform]: ratios };
  const sorted = Object.fromEntries(Object.entries(baseline).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  await writeFile(file, `${JSON.stringify(sorted, undefined, 2)}\n`);
}

function isBaseline(value: unknown): value is Baseline {
  return (
    isRecord(value) &&
    Object.values(value).every((each) => isRecord(each) && Object.values(each).every(isRatio))
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isRatio(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}
