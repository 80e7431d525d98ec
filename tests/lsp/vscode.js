// Visual Studio Code as people see it: opens a formula with a fault in it, reads what is shown, mends
// it and has it laid out. Prints what it saw as JSON. Given: the folder, the file, the address of the
// server, the browser.
"use strict";
const { chromium } = require("playwright-core");
const [folder, file, address, browser] = process.argv.slice(2);
const LONG = 120_000; // milliseconds, on a machine that has other things to do

const shown = () => [...document.querySelectorAll(".view-line")]
  .map(line => ({ top: line.offsetTop, text: line.innerText.replace(/\u00a0/g, " ") }))
  .sort((one, other) => one.top - other.top).map(line => line.text.trimEnd());
const hint = () => [...document.querySelectorAll(".monaco-hover")]
  .map(box => box.innerText).find(text => text.includes("cvmgen"));
const colours = () => new Set([...document.querySelectorAll(".view-line span span")]
  .map(word => getComputedStyle(word).color)).size;
const offered = () => [...document.querySelectorAll(".suggest-widget .label-name")]
  .map(word => word.innerText);
const faults = () => document.querySelectorAll(".squiggly-error").length;

(async () => {
  const window = await chromium.launch({ executablePath: browser, args: ["--no-sandbox", "--disable-gpu"] });
  const page = await window.newPage({ viewport: { width: 1200, height: 760 } });
  page.setDefaultTimeout(LONG);
  const payload = JSON.stringify([["openFile", `vscode-remote://${address}${folder}/${file}`]]);
  await page.goto(`http://${address}/?folder=${folder}&payload=${encodeURIComponent(payload)}`);
  await page.waitForSelector(".view-lines .view-line");
  await page.waitForFunction(faults);
  await page.waitForFunction(`(${colours})() > 3`);
  const seen = { faults: await page.evaluate(faults), colours: await page.evaluate(colours) };
  const place = await page.locator(".squiggly-error").first().boundingBox();
  await page.mouse.move(place.x + 3, place.y + 5);
  seen.hint = await (await page.waitForFunction(hint)).jsonValue();
  await page.mouse.move(600, 740);
  await page.locator(".view-line", { hasText: "X[e" }).click();
  await page.keyboard.press("End");
  await page.keyboard.press("Shift+Home");
  await page.keyboard.type("Y[d...]=2*X[d...");
  await page.waitForFunction(`(${faults})() === 0`);
  await page.keyboard.press("F1");
  await page.keyboard.type("Format Document");
  await page.waitForSelector(".quick-input-list .monaco-list-row.focused >> text=Format Document");
  await page.keyboard.press("Enter");
  await page.waitForFunction(`(${shown})().some(line => line.includes("] = 2"))`);
  seen.text = await page.evaluate(shown);
  await page.locator(".view-line", { hasText: "example double" }).click();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.keyboard.type("exam");
  await page.keyboard.press("Control+Space");
  await page.waitForFunction(`(${offered})().includes("example")`);
  await page.keyboard.press("Enter");
  await page.waitForFunction(`(${shown})().includes("  example")`);
  seen.completed = (await page.evaluate(shown)).filter(line => line === "  example").length;
  console.log(JSON.stringify(seen));
  await window.close();
})().catch(error => {
  console.error(error);
  process.exit(1);
});
