// The demo's part of the console, which the gateway of the demo adds to its page: chunks of the jobs that run, and a
// button that kills a worker. The service has neither.

function h(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children.flat());
  return node;
}

const pollMs = 700;
/** A job that has ended stays for a moment, so that one sees its last chunk. */
const lingerMs = 4000;

const workers = h('span', { class: 'soft', role: 'status' });
const kill = h('button', { type: 'button', class: 'button small danger', id: 'kill-worker' }, 'Kill a worker');
const list = h('ul', { class: 'demo-jobs', 'aria-label': 'Chunks of the jobs that run' });
const hint = h(
  'p',
  { class: 'soft' },
  'Drop a video of 30 seconds or more: it is encoded in chunks, which turn green here.',
);
document.body.append(
  h(
    'aside',
    { class: 'demo-board', 'aria-label': 'Demo' },
    h('div', { class: 'demo-workers' }, h('strong', {}, 'Demo'), workers, kill),
    h('div', { class: 'demo-chunks' }, hint, list),
  ),
);

/** The fate of the last worker that was to be killed. */
let killedText = '';
/** By job id: `{job, seenAt, node}`. */
const shown = new Map();

async function ask(path, init) {
  const response = await fetch(new URL(path, import.meta.url), { cache: 'no-store', ...init });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}

function draw(node, { job_id: id, hash, attempt, chunks }) {
  const done = chunks.filter(Boolean).length;
  const text = `${done} of ${chunks.length} chunks encoded${attempt > 1 ? `, attempt ${attempt}` : ''}`;
  node.replaceChildren(
    h('a', { class: 'mono', href: `#/jobs/${id}` }, hash),
    h(
      'span',
      { class: 'cells', role: 'img', 'aria-label': text },
      chunks.map((isDone) => h('span', { class: 'cell', 'data-done': isDone })),
    ),
    h('span', { class: 'soft' }, text),
  );
}

function show({ workers: pids, jobs }) {
  const now = Date.now();
  workers.textContent = [`workers ${pids.join(' and ')}`, killedText].filter(Boolean).join('; ');
  for (const job of jobs) {
    const entry = shown.get(job.job_id) ?? { node: h('li', {}), drawn: '' };
    const drawn = JSON.stringify(job);
    if (entry.drawn !== drawn) draw(entry.node, job);
    shown.set(job.job_id, { ...entry, drawn, seenAt: now });
    if (!entry.node.isConnected) list.prepend(entry.node);
  }
  for (const [id, { node, seenAt }] of shown) {
    if (now - seenAt < lingerMs) continue;
    node.remove();
    shown.delete(id);
  }
  hint.hidden = shown.size > 0;
}

kill.addEventListener('click', async () => {
  kill.disabled = true;
  try {
    const { killed } = await ask('kill', { method: 'POST', headers: { 'x-demo': '1' } });
    killedText = `${killed} was killed, another one goes on`;
  } catch (problem) {
    killedText = `none was killed: ${problem.message}`;
  } finally {
    kill.disabled = false;
  }
});

for (;;) {
  if (document.body.dataset.state === 'in' && !document.hidden) await ask('state').then(show, () => undefined);
  await new Promise((resolve) => setTimeout(resolve, pollMs));
}
