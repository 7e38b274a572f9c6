// Writes packages/*/CHANGELOG.md from the conventional commits: node scripts/changelogs.mjs. With --release, the changes
// since a package's last tag get the version of its manifest and today's date.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { manifests } from "./workspace.mjs";

const root = resolve(import.meta.dirname, "..");
const headings = {
  breaking: "Breaking",
  feat: "Added",
  fix: "Fixed",
  perf: "Faster",
  texts: "Changed texts of errors, logs and metrics",
};

/**
 * Returns the entries of one commit.
 *
 * @param commit - `subject` and `body`; `old` is true for a commit made before subjects were checked, whose fixes are
 *   omitted because no release had these faults
 * @param wording - the text to use instead of the subject; null omits the commit
 * @returns for each entry its kind (a key of `headings`), its scopes and its text
 */
export function entriesOf({ subject, body, old = false }, wording) {
  const [, type, scope = "", mark, text] = /^(\w+)(?:\(([^)]+)\))?(!?): (.+)$/.exec(subject) ?? [];
  if (type === undefined || wording === null) return [];
  const scopes = scope.split(",").map((each) => each.trim());
  const entries = [];
  if (["feat", "fix", "perf"].includes(type) && (type === "feat" || !old))
    entries.push({ kind: mark === "!" ? "breaking" : type, scopes, text: sentence(wording ?? text) });
  const add = (kind, lines) => entries.push({ kind, scopes, text: lines.replaceAll(/\s+/g, " ").trim() });
  for (const [, text] of body.matchAll(/^BREAKING[ -]CHANGE: (.+(?:\n.+)*)/gm))
    add("breaking", sentence(text));
  for (const [, list] of body.matchAll(/^Changed texts:\n+((?:[- ] .+\n?)+)/gm))
    for (const [, item] of list.matchAll(/^- (.+(?:\n {2}.+)*)/gm)) add("texts", item.replaceAll("<", "\\<"));
  return entries;
}

/** Returns the text of one package's changelog; `sections` are the newest first. */
export function changelogOf(name, sections) {
  const parts = sections.map(({ title, entries }) => {
    const lists = Object.entries(headings).flatMap(([kind, heading]) => {
      const lines = [...new Set(entries.filter((each) => each.kind === kind).map(({ text }) => `- ${text}`))];
      return lines.length === 0 ? [] : [`### ${heading}\n\n${lines.join("\n")}\n`];
    });
    return `## ${title}\n\n${lists.join("\n") || "Nothing that users notice.\n"}`;
  });
  return `# Changelog of ${name}\n\n${parts.join("\n")}`;
}

/** Capitalizes a string unless it begins with a name from the code. */
function sentence(text) {
  return /^[a-z]+\b(?![-.(])/.test(text) ? text[0].toUpperCase() + text.slice(1) : text;
}

function git(...args) {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 });
}

/** Returns all commits, the newest first, with the tags at each of them. */
function commits() {
  const [subjectsChecked] = git("log", "--diff-filter=A", "--format=%H", "--", "commitlint.config.mjs").split(
    "\n",
  );
  const old = new Set(git("rev-list", subjectsChecked).split("\n"));
  return git("log", "--topo-order", "--format=%H%x1f%cs%x1f%D%x1f%s%x1f%b%x1e")
    .split("\x1e")
    .map((record) => record.trim().split("\x1f"))
    .filter(([hash]) => hash !== "")
    .map(([hash, date, refs, subject, body]) => ({
      hash,
      date,
      tags: refs.split(", ").flatMap((ref) => (ref.startsWith("tag: ") ? [ref.slice(5)] : [])),
      subject,
      body,
      old: old.has(hash),
    }));
}

/** Returns the sections of one package: a tag such as `@svc/sql@1.2.0` begins the section of its version. */
function sectionsOf(folder, { name, version }, history, { release }) {
  const today = new Date().toISOString().slice(0, 10);
  const sections = [{ title: release ? `${version} - ${today}` : "Unreleased", entries: [] }];
  for (const { date, tags, entries } of history) {
    const tag = tags.find((each) => each.startsWith(`${name}@`));
    if (tag !== undefined) sections.push({ title: `${tag.slice(name.length + 1)} - ${date}`, entries: [] });
    sections.at(-1).entries.push(...entries.filter(({ scopes }) => scopes.includes(folder)));
  }
  // A package that does not take part in a release has no changes since its last tag.
  return sections.length > 1 && sections[0].entries.length === 0 ? sections.slice(1) : sections;
}

if (process.argv[1] === import.meta.filename) {
  const wordings = JSON.parse(readFileSync(join(import.meta.dirname, "changelog-wording.json"), "utf8"));
  const history = commits().map((commit) => ({
    ...commit,
    entries: entriesOf(commit, wordings[commit.hash.slice(0, 7)]),
  }));
  for (const [folder, manifest] of manifests()) {
    const sections = sectionsOf(folder, manifest, history, { release: process.argv.includes("--release") });
    writeFileSync(join(root, manifest.folder, "CHANGELOG.md"), changelogOf(manifest.name, sections));
  }
}
