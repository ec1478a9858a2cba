import { h } from './dom.js';

// Fields with a label, a hint and a place for the fault that the server reports.

let numbers = 0;

/** @returns `{node, input, setFault(text)}`; `pointers` are the JSON Pointers of the request that the field makes */
export function field({ label, hint = '', input, pointers }) {
  numbers += 1;
  const [id, hintId, faultId] = ['field', 'hint', 'fault'].map((name) => `${name}-${numbers}`);
  input.id = id;
  input.setAttribute('aria-describedby', `${hintId} ${faultId}`);
  const fault = h('p', { id: faultId, class: 'field-fault', hidden: true });
  const node = h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    input,
    h('p', { id: hintId, class: 'hint' }, hint),
    fault,
  );
  return {
    node,
    input,
    pointers,
    setFault(text) {
      fault.textContent = text;
      fault.hidden = text === '';
      if (text === '') input.removeAttribute('aria-invalid');
      else input.setAttribute('aria-invalid', 'true');
    },
  };
}

/**
 * Shows each fault at its field and focuses the first of them.
 *
 * @returns the texts of faults that are of no field
 */
export function showFaults(fields, faults) {
  for (const each of fields) each.setFault('');
  const rest = [];
  let first = null;
  for (const each of fields) {
    const own = faults.filter(({ pointer }) =>
      each.pointers.some((start) => pointer === start || pointer.startsWith(`${start}/`)),
    );
    if (own.length === 0) continue;
    each.setFault(own.map((fault) => textOf(fault, each.pointers)).join(' '));
    first ??= each.input;
  }
  const known = fields.flatMap(({ pointers }) => pointers);
  for (const fault of faults)
    if (!known.some((start) => fault.pointer === start || fault.pointer.startsWith(`${start}/`)))
      rest.push(textOf(fault, []));
  first?.focus();
  return rest;
}

/** Faults of fields whose text the browser gives no value for: half a date would count as none. */
export const incomplete = (fields) =>
  fields
    .filter(({ input }) => input.validity.badInput)
    .map(({ pointers: [pointer] }) => ({ pointer, detail: 'This is incomplete.' }));

/** The name of a field within the text of another one stands before the fault. */
function textOf({ pointer, detail }, pointers) {
  const text = `${detail[0]?.toUpperCase() ?? ''}${detail.slice(1)}${/[.!?]$/.test(detail) ? '' : '.'}`;
  return pointers.includes(pointer) || pointer === ''
    ? text
    : `${pointer}: ${detail}${/[.!?]$/.test(detail) ? '' : '.'}`;
}
