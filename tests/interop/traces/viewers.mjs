// What two viewers' own readers make of trace events: speedscope's importer, and the engine of Chrome's DevTools.
// Usage: node viewers.mjs FILE MODULES. Prints {reader: {rows: [[track, depth, span, name, from, to, parent]], warnings}}.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import { pathToFileURL } from 'node:url';

const [file, modules] = process.argv.slice(2);
const text = fs.readFileSync(file, 'utf8');
const read = {};

async function noted(name, read_it) {
  const warnings = [];
  const kept = { warn: console.warn, error: console.error };
  console.warn = console.error = (...words) => warnings.push(words.join(' '));
  try {
    read[name] = { rows: await read_it(warnings), warnings };
  } catch (error) {
    read[name] = { rows: [], warnings: [...warnings, String(error.stack)] };
  }
  Object.assign(console, kept);
}

// It is bundled for browsers, with all that draws. Its importer has no name of its own, and is found by who calls it.
async function speedscope(warnings) {
  const folder = path.join(modules, 'speedscope/dist/release');
  let bundle = fs.readFileSync(path.join(folder, fs.readdirSync(folder).find((it) => /^speedscope-.*\.js$/.test(it))), 'utf8');
  const importer = /loadFileFromBase64:\(\w+,\w+\)=>\{this\.loadProfile\(\(\)=>([\w$]+)\(/.exec(bundle)[1];
  bundle = `${bundle.slice(0, bundle.lastIndexOf('console.log(`speedscope v'))};globalThis.importFromBase64=${importer};})();`;
  const note = (...words) => warnings.push(words.join(' '));
  const element = () => ({ style: {}, getContext: () => null, appendChild() {}, setAttribute() {} });
  const browser = {
    console: { log() {}, warn: note, error: note }, atob, btoa, TextDecoder, TextEncoder, setTimeout, clearTimeout, performance, URL, Blob,
    navigator: { userAgent: '', platform: '' }, location: { hash: '', protocol: 'http:' }, devicePixelRatio: 1,
    requestAnimationFrame: () => 0, matchMedia: () => ({ matches: false, addListener() {}, addEventListener() {} }), addEventListener() {},
    document: { createElement: element, head: element(), body: element(), addEventListener() {}, querySelector: () => null },
  };
  browser.window = browser.self = browser.globalThis = browser;
  vm.createContext(browser);
  vm.runInContext(bundle, browser);
  const group = await browser.importFromBase64('trace.json', Buffer.from(text).toString('base64'));
  const rows = [];
  for (const profile of group.profiles) {
    const open = [];
    profile.forEachCall(
      (node, at) => {
        // It shows what is told of an event behind its name.
        const [, name, told] = /^(.*?) (\{"status":.*)$/s.exec(node.frame.name) ?? [null, node.frame.name, '{}'];
        const row = [profile.getName(), open.length, JSON.parse(told).spanId ?? null, name, at, null, open.at(-1)?.[2] ?? null];
        open.push(row);
        rows.push(row);
      },
      (node, at) => { open.pop()[5] = at; });
  }
  return rows;
}

async function devtools() {
  globalThis.DOMRect = class {};
  globalThis.window = globalThis;
  const engine = await import(pathToFileURL(path.join(modules, '@paulirish/trace_engine/models/trace/trace.js')).href)
    .catch(() => import(pathToFileURL(path.join(modules, '@paulirish/trace_engine', JSON.parse(
      fs.readFileSync(path.join(modules, '@paulirish/trace_engine/package.json'))).main)).href));
  const processor = engine.Processor.TraceProcessor.createWithAllHandlers();
  await processor.parse(JSON.parse(text).traceEvents, { isFreshRecording: false, isCPUProfile: false, metadata: {} });
  const rows = [];
  for (const { threads } of processor.data.Renderer.processes.values()) {
    for (const [number, thread] of threads) {
      const walk = (node, depth, parent) => {
        const { args, name, ts, dur } = node.entry;
        rows.push([`${thread.name} ${number}`, depth, args.spanId, name, ts, ts + (dur ?? 0), parent]);
        for (const child of node.children) walk(child, depth + 1, args.spanId);
      };
      for (const root of thread.tree?.roots ?? []) walk(root, 0, null);
    }
  }
  return rows;
}

await noted('speedscope', speedscope);
await noted('devtools', devtools);
console.log(JSON.stringify(read));
