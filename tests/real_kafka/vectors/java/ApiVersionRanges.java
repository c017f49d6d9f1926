import java.lang.reflect.Array;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** APIs by number: name, oldest and newest version, newest stable version, and the listeners that have the API. */
public final class ApiVersionRanges {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> answers = new TreeMap<>();
        for (Object api : Class.forName("org.apache.kafka.common.protocol.ApiKeys").getEnumConstants()) {
            Number id = (Number) Reflection.get(api, "id");
            String item = id + "/";
            answers.put(item + "name", ((Enum<?>) api).name());
            answers.put(item + "oldest", oldest(api, id.intValue()));
            answers.put(item + "newest", newest(api, id.intValue()));
            answers.put(item + "newest stable", newestStable(api, id.intValue()));
            answers.put(item + "listeners", listeners(api));
        }
        Json.print(answers);
    }

    private static Object oldest(Object api, int id) throws Exception {
        if (Reflection.method(api.getClass(), "oldestVersion", 0) != null) {
            return Reflection.call(api, "oldestVersion");
        }
        Class<?> protocol = Class.forName("org.apache.kafka.common.protocol.Protocol");
        try {
            return Array.get(Reflection.get(protocol, "MIN_VERSIONS"), id);
        } catch (NoSuchFieldException error) {
            Object[] schemas = ((Object[][]) Reflection.get(protocol, "REQUESTS"))[id];
            int version = 0;
            while (version < schemas.length && schemas[version] == null) {
                version++;
            }
            return version;
        }
    }

    private static Object newest(Object api, int id) throws Exception {
        if (Reflection.method(api.getClass(), "latestVersion", 0) != null) {
            return Reflection.call(api, "latestVersion");
        }
        Class<?> protocol = Class.forName("org.apache.kafka.common.protocol.Protocol");
        return Array.get(Reflection.get(protocol, "CURR_VERSION"), id);
    }

    private static Object newestStable(Object api, int id) throws Exception {
        boolean marksUnstable = Reflection.method(api.getClass(), "latestVersion", 1) != null;
        return marksUnstable ? Reflection.call(api, "latestVersion", false) : newest(api, id);
    }

    /** Names of listeners, none before they were told apart. */
    private static Collection<String> listeners(Object api) throws Exception {
        TreeSet<String> found = new TreeSet<>();
        try {
            Object type = Reflection.get(api, "messageType");
            for (Object listener : (Collection<?>) Reflection.call(type, "listeners")) {
                found.add(String.valueOf(listener));
            }
        } catch (ReflectiveOperationException error) {
            // releases before 2.8
        }
        return found;
    }
}
