/** A person who has an account at the demo provider. */
export interface DemoPerson {
  /** The provider's permanent id of the person. */
  readonly subject: string;
  readonly email: string;
  readonly name: string;
}

/** Returns the page on which the visitor chooses a user. */
export function whoPage(action: string, people: readonly DemoPerson[]): string {
  const choices = people.map(
    ({ subject, email, name }, index) =>
      `<label><input type="radio" name="person" value="${escaped(subject)}"${index === 0 ? " checked" : ""}>` +
      `<span>${escaped(name)}<br><small>${escaped(email)}</small></span></label>`,
  );
  return page(
    "Choose a user",
    `<p>A real provider would ask for a password. This demo provider does not.</p>
<form method="post" action="${escaped(action)}">
<fieldset>
<legend>Demo users</legend>
${choices.join("\n")}
</fieldset>
${buttons("Continue")}
</form>`,
  );
}

/** Returns the page that asks for consent. */
export function consentPage(action: string, { email, name }: DemoPerson): string {
  return page(
    "Share your name and e-mail address with Expenses?",
    `<p>Expenses asks for your name and your e-mail address:</p>
<p>${escaped(name)}<br>${escaped(email)}</p>
<form method="post" action="${escaped(action)}">
${buttons("Allow")}
</form>`,
  );
}

/** Returns an error page. */
export function refusalPage(text: string): string {
  return page("Sign-in failed", `<p>${escaped(text)}</p><p>Go back to the service and start again.</p>`);
}

function buttons(yes: string): string {
  return `<p><button name="answer" value="yes">${yes}</button> <button name="answer" value="no">Cancel</button></p>`;
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - demo provider</title>
<link rel="icon" href="data:,">
<style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; background: #f6f1e7; }
fieldset { border: 1px solid #6b6255; padding: .75rem; }
label { display: flex; gap: .6rem; align-items: baseline; padding: .25rem 0; }
button { font: inherit; padding: .4rem 1rem; }
:focus-visible { outline: 3px solid #7a3e00; outline-offset: 2px; }
</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`);
}
