import { SearchError, type SearchStore } from "@svc/search-store";
import type { Queryable } from "@svc/sql";
import type { Category } from "./expense.ts";
import { latestExpenses } from "./expense-store.ts";
import { factsOf } from "./search/documents.ts";

/** A note of an expense, and the text of the receipt for it. */
export interface DemoReceipt {
  readonly note: string;
  readonly text: string;
}

/** Receipts of the demo: its expenses have these notes, and its document store has these texts. */
export const receipts: Readonly<Record<Category, readonly DemoReceipt[]>> = {
  travel: [
    {
      note: "Train to Hamburg and back",
      text: "Return ticket Hamburg, second class, with seat reservation. The train back was late by an hour; a refund form is attached.",
    },
    {
      note: "Two nights in a hotel",
      text: "Two nights, single room with breakfast, for the trade fair. City tax is included.",
    },
    {
      note: "Taxi from the airport",
      text: "Taxi from the airport to the hotel, 24 kilometres, paid by card.",
    },
    {
      note: "Ferry for the delivery van",
      text: "Ferry crossing for one van with a driver. Luggage and bicycles travel for free.",
    },
  ],
  meals: [
    {
      note: "Lunch with a supplier",
      text: "Lunch for four with our coffee supplier: soup, fish of the day, mineral water. Talked about next year's prices.",
    },
    {
      note: "Coffee and cake for the team",
      text: "Twelve coffees and a whole apple cake, for Ines's birthday.",
    },
    {
      note: "Dinner after the trade fair",
      text: "Dinner for six after the trade fair. Vegetarian menu twice, no alcohol on the bill.",
    },
    {
      note: "Sandwiches for the workshop",
      text: "Forty sandwiches and a box of fruit, delivered to the workshop at noon.",
    },
  ],
  office: [
    {
      note: "Printer paper and toner",
      text: "Ten boxes of printer paper and two black toner cartridges. The printer's drum has to be replaced soon.",
    },
    { note: "Desk lamp", text: "Desk lamp with a clamp, warm light, two years of warranty." },
    { note: "Stamps and envelopes", text: "A hundred stamps and padded envelopes for sending samples." },
    {
      note: "Chair for the front desk",
      text: "Office chair, grey, adjustable height, assembled on delivery.",
    },
  ],
  software: [
    {
      note: "Accounting software, one month",
      text: "Monthly subscription of the accounting software, three users. Renews by itself; cancel before the 25th.",
    },
    { note: "Domain names and mail", text: "Renewal of two domain names and of ten mailboxes for one year." },
    { note: "Licence for photo editing", text: "One licence for photo editing, used for the catalogue." },
    {
      note: "Backup storage",
      text: "Half a terabyte of backup storage in another data centre, encrypted, thirty days of history.",
    },
  ],
  other: [
    { note: "Flowers for the shop window", text: "Sunflowers and eucalyptus for the shop window." },
    { note: "First-aid kit", text: "First-aid kit for the workshop, plasters and eye wash refilled." },
    { note: "Window cleaning", text: "Cleaning of all windows, inside and outside, with a ladder fee." },
    {
      note: "Donation to the street festival",
      text: "Donation to the street festival. A receipt for the tax office will follow by post.",
    },
  ],
};

const texts: ReadonlyMap<string, string> = new Map(
  Object.values(receipts)
    .flat()
    .map(({ note, text }) => [note, text]),
);

/**
 * Stores one receipt for each demo note, under the id of the latest expense with that note, if the tenant has no
 * documents.
 *
 * @returns the number of receipts
 */
export async function addDemoReceipts(
  store: SearchStore,
  tenant: string,
  inTenant: <T>(work: (tx: Queryable) => Promise<T>) => Promise<T>,
): Promise<number> {
  const { documents } = await store.stats(tenant);
  if (documents > 0) return 0;
  const expenses = await inTenant((tx) => latestExpenses(tx, [...texts.keys()]));
  try {
    const { chunks } = await store.ingestBulk(
      tenant,
      expenses.map((expense) => ({
        documentId: expense.id,
        content: `${expense.note}. ${texts.get(expense.note) ?? ""}`,
        meta: factsOf(expense),
      })),
    );
    return chunks;
  } catch (error) {
    // Another replica has already stored the receipts.
    if (error instanceof SearchError && error.code === "ERR_SVC_SEARCH_DUPLICATE") return 0;
    throw error;
  }
}
