// What is to be done for every task. The script gives these to its worker, `svc-jobs drain` to one of its own.
const sheets = Number(process.env.PAPER ?? 500);

export default {
  async "book.print"({ title, pages }, job) {
    if (title === "Moby Dick" && job.attempts === 1) throw new Error("paper jam");
    if (pages > sheets) throw new Error(`${pages} pages, and ${sheets} sheets of paper`);
    console.log(`printed ${title}, ${pages} pages`);
  },
};
