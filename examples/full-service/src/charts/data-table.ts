import { type Html, markup } from "@svc/html";

/** The numbers of a chart. */
export interface DataTable {
  readonly caption: string;
  /** The column headings; the first column contains the names of the rows. */
  readonly columns: readonly string[];
  readonly rows: readonly { readonly name: string; readonly cells: readonly string[] }[];
}

/** Returns a table that is collapsed at first, and scrolls separately on a narrow screen. */
export function dataTable({ caption, columns, rows }: DataTable): Html {
  return markup`<details>
<summary>Numbers: ${caption}</summary>
<div class="scroll" role="group" aria-label="${caption}, a table" tabindex="0">
<table class="numbers">
<caption>${caption}</caption>
<thead><tr>${columns.map((column) => markup`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>
${rows.map(
  ({ name, cells }) =>
    markup`<tr><th scope="row">${name}</th>${cells.map((cell) => markup`<td>${cell}</td>`)}</tr>`,
)}
</tbody>
</table>
</div>
</details>`;
}
