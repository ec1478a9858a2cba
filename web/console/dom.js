// Small helpers to build elements. Texts become text nodes, never markup: hashes, keys and messages are of others.

/**
 * An element: `h('a', {href, class, onclick, 'aria-label', dataset: {…}}, ...children)`. Children are nodes, texts, or
 * null and false for none.
 */
export function h(name, props = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'dataset') Object.assign(node.dataset, value);
    else if (key === 'vars') for (const [name_, text] of Object.entries(value)) node.style.setProperty(name_, text);
    else if (key === 'value') node.value = value;
    else node.setAttribute(key === 'class' ? 'class' : key, value === true ? '' : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** What makes two links or buttons the same one to a person. */
const nameOf = (node) => node.getAttribute('href') ?? node.getAttribute('aria-label') ?? node.textContent;

/** Replaces what `node` shows; a link or button that has the focus passes it on to the same one of the new ones. */
export function redraw(node, ...children) {
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  node.replaceChildren(...children);
  if (focused === null || node.contains(focused)) return;
  const same = [...node.querySelectorAll(focused.localName)].find((each) => nameOf(each) === nameOf(focused));
  same?.focus({ preventScroll: true });
}

const svgNames = 'http://www.w3.org/2000/svg';

/** An icon of lines on a field of 24 × 24. */
export function icon(path) {
  const svg = document.createElementNS(svgNames, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', 'icon');
  const line = document.createElementNS(svgNames, 'path');
  line.setAttribute('d', path);
  svg.append(line);
  return svg;
}

/** A short message that screen readers read out too, and that disappears. */
export function announce(text, kind = 'info') {
  const place = document.getElementById('toasts');
  const toast = h('p', { class: 'toast', dataset: { kind } }, text);
  place.append(toast);
  setTimeout(() => toast.remove(), 6000);
}

/** A button that copies `text()`. */
export function copyButton(label, text) {
  const button = h('button', { type: 'button', class: 'button small', 'aria-label': label }, 'Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text());
      announce('Copied.');
    } catch {
      announce('The browser does not allow to copy here; select the text instead.', 'fault');
    }
  });
  return button;
}

/** Asks for a confirmation; resolves to whether it was given. */
export function confirmation({ title, text, action, isDangerous = false }) {
  return new Promise((resolve) => {
    const end = () => {
      dialog.remove();
      resolve(dialog.returnValue === 'confirmed');
    };
    const dialog = h(
      'dialog',
      { class: 'dialog', 'aria-labelledby': 'confirm-title', onclose: end },
      h('h2', { id: 'confirm-title' }, title),
      h('p', {}, text),
      h(
        'div',
        { class: 'actions' },
        h('button', { type: 'button', class: 'button', onclick: () => dialog.close() }, 'Keep it'),
        h(
          'button',
          {
            type: 'button',
            class: `button ${isDangerous ? 'danger' : 'primary'}`,
            onclick: () => dialog.close('confirmed'),
          },
          action,
        ),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Answers an open question with no: its view is left. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close();
}
