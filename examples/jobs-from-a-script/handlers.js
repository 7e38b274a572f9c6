// The handlers of all tasks, for the worker of the script and for `svc-jobs drain`.
const sheets = Number(process.env.PAPER ?? 500);

export default {
  async "book.print"({ title, pages }, job) {
    if (title === "Moby Dick" && job.attempts === 1) throw new Error("paper jam");
    if (pages > sheets) throw new Error(`${pages} pages, and ${sheets} sheets of paper`);
    console.log(`printed ${title}, ${pages} pages`);
  },
};
