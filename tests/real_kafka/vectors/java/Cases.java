import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Cases on standard input: a JSON list of texts, each a name and fields such as {@code isr=1,2}, separated by blanks.
 *
 * <p>The text of a case is the item of its answer.
 */
final class Cases {
    interface Question {
        Object answer(Map<String, String> fields) throws Exception;
    }

    private Cases() {
    }

    /** Asks a question about every case and prints the answers. */
    static void answer(Question question) throws Exception {
        Map<String, Object> answers = new LinkedHashMap<>();
        for (Object item : Json.list(Json.readInput())) {
            try {
                answers.put((String) item, question.answer(fields((String) item)));
            } catch (Exception error) {
                throw new IllegalStateException(item + ": " + error, error);
            }
        }
        Json.print(answers);
    }

    private static Map<String, String> fields(String text) {
        Map<String, String> found = new LinkedHashMap<>();
        for (String field : text.split(" ")) {
            int place = field.indexOf('=');
            if (place >= 0) {
                found.put(field.substring(0, place), field.substring(place + 1));
            }
        }
        return found;
    }

    /** Elements of a collection of Java or Scala. */
    static List<Object> elements(Object collection) throws Exception {
        List<Object> found = new ArrayList<>();
        if (collection instanceof Iterable) {
            ((Iterable<?>) collection).forEach(found::add);
            return found;
        }
        Object iterator = Reflection.call(collection, "iterator");
        while ((Boolean) Reflection.call(iterator, "hasNext")) {
            found.add(Reflection.call(iterator, "next"));
        }
        return found;
    }

    /** Numbers of a field such as {@code 1,2}, which may be empty. */
    static List<Integer> numbers(String text) {
        List<Integer> found = new ArrayList<>();
        for (String number : text.split(",")) {
            if (!number.isEmpty()) {
                found.add(Integer.valueOf(number));
            }
        }
        return found;
    }

    static List<Integer> numbers(int[] array) {
        List<Integer> found = new ArrayList<>();
        for (int number : array) {
            found.add(number);
        }
        return found;
    }
}
