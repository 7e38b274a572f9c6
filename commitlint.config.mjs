// Changelogs come from the commits: CONTRIBUTING.md, "A change". `npm run check` holds every commit after this file's against it.
export default {
  extends: ["@commitlint/config-conventional"],
  rules: {
    "header-max-length": [2, "always", 72],
    // A body may quote texts and addresses.
    "body-max-line-length": [0],
    "footer-max-line-length": [0],
    // Lerna would release a commit with `!` as a patch: it finds breaking changes only by the footer `BREAKING CHANGE:`.
    "subject-exclamation-mark": [2, "never"],
  },
};
