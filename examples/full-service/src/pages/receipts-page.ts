import { categories } from "../expense.ts";
import type { Found } from "../search/documents.ts";
import { type Html, markup } from "@svc/html";
import { layout } from "./layout.ts";

/** The content of the page. */
export interface ReceiptsPage {
  /** The query as typed. Default: empty. */
  readonly q?: string | undefined;
  readonly category?: string | undefined;
  /** The results. Default: no search was made. */
  readonly hits?: readonly Found[] | undefined;
  /** The error of the query. Default: none. */
  readonly error?: string | undefined;
}

export function receiptsPage({ q = "", category, hits, error }: ReceiptsPage): string {
  const title = hits === undefined ? "Search receipts" : `${q.slice(0, 60)} - search receipts`;
  const main = markup`<h1>Search receipts</h1>
${searchForm({ q, category, error })}
${hits !== undefined && results(q, hits)}
<p><a href="/reports">Reports</a> · <a href="/">Start page</a></p>`;
  return layout(`${error === undefined ? "" : "Error: "}${title}`, main, style);
}

const style: Html = markup`
  h2, [role="status"] { overflow-wrap: anywhere; }
  .hits { padding: 0; list-style: none; }
  .hits li { padding: .75rem 0; border-bottom: 1px solid var(--line); }
  .hits p { margin: 0 0 .25rem; overflow-wrap: anywhere; }
  .facts { color: var(--edge); font-size: .9rem; }
  .tag { border: 1px solid var(--edge); border-radius: 1rem; padding: 0 .6rem; margin-right: .4rem; }
  mark { background: var(--mark); color: inherit; border-radius: .15rem; }`;

/** Returns the search form, which needs no script. */
export function searchForm({ q = "", category, error }: Omit<ReceiptsPage, "hits">): Html {
  const isWrong = error !== undefined && markup` aria-invalid="true" aria-describedby="error"`;
  return markup`<form action="/receipts" role="search" aria-label="Receipts">
${error !== undefined && markup`<p class="error" id="error" role="alert">${error}</p>`}
<div class="row">
<div><label for="q">Search terms</label>
<input id="q" name="q" type="search" required maxlength="500" value="${q}"${isWrong}></div>
<div><label for="category">Category</label>
<select id="category" name="category">
<option value="">all</option>
${categories.map((each) => markup`<option${each === category && markup` selected`}>${each}</option>`)}
</select></div>
<button>Search</button>
</div>
</form>`;
}

function results(q: string, hits: readonly Found[]): Html {
  if (hits.length === 0) return markup`<p role="status">No receipt matches “${q}”.</p>`;
  const words = wordsOf(q);
  return markup`<h2>${hits.length === 1 ? "One receipt matches" : `${hits.length} receipts match`} “${q}”</h2>
<ol class="hits" role="list">
${hits.map((hit) => item(hit, words))}
</ol>`;
}

function item({ document, text, meta, score, rank }: Found, words: RegExp | undefined): Html {
  const { category, paid_at: paidAt, expense } = meta;
  const found = [
    rank.meaning === null ? undefined : `rank ${rank.meaning} by similarity (${score.toFixed(2)})`,
    rank.words === null ? undefined : `rank ${rank.words} by words`,
  ].filter((each) => each !== undefined);
  return markup`<li>
<p>${marked(text, words)}</p>
<p class="facts">${typeof category === "string" && markup`<span class="tag">${category}</span>`}${
    typeof paidAt === "string" &&
    /^\d{4}-\d\d-\d\d/.test(paidAt) &&
    markup`<time datetime="${paidAt}">${paidAt.slice(0, 10)}</time>, `
  }${found.join(", ")}${expense === true && markup`, <a href="/expenses/${document}">the expense<span class="hidden"> of ${String(paidAt).slice(0, 10)}: ${text.slice(0, 40)}</span></a>`}</p>
</li>`;
}

const mostWords = 12;

/** Returns a pattern for words that begin with a word of the query of at least 4 characters; undefined without one. */
function wordsOf(q: string): RegExp | undefined {
  const words = q.match(/[\p{L}\p{N}]{4,}/gu)?.slice(0, mostWords) ?? [];
  // The words contain only letters and digits, so they need no escaping in a pattern.
  return words.length === 0
    ? undefined
    : new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join("|")})[\\p{L}\\p{N}]*`, "giu");
}

function marked(text: string, words: RegExp | undefined): Html {
  if (words === undefined) return markup`${text}`;
  let end = 0;
  const parts = [...text.matchAll(words)].map((match) => {
    const before = text.slice(end, match.index);
    end = match.index + match[0].length;
    return markup`${before}<mark>${match[0]}</mark>`;
  });
  return parts.reduceRight((rest, part) => markup`${part}${rest}`, markup`${text.slice(end)}`);
}
